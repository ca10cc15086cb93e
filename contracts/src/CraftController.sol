// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";

/// @title Burns approved tokens for crafting and speeds crafting up.
/// @notice Users approve this contract, never a key. It takes tokens only into itself and has no way to send any out: no
/// withdrawal, no approval, no free call. What it holds is burned. An operator's stolen key can therefore burn what users
/// approved, and nothing else, until the pauser acts.
/// @dev Both actions are idempotent by order id and answer a repeated call even while paused (see SaleLots.mint).
contract CraftController is AccessControl, Pausable {
    using EnumerableSet for EnumerableSet.AddressSet;
    using SafeERC20 for IERC20;

    bytes32 public constant OPERATOR_ROLE = keccak256("OPERATOR_ROLE");
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");
    uint256 public constant NFTS_MAX = 20;

    enum ActionKind {
        None,
        Burn,
        Accelerate
    }

    struct Nft {
        address collection;
        uint256 tokenId;
    }

    struct Timer {
        uint256 id;
        address user;
        uint64 startedAt;
        uint64 readyAt;
    }

    struct Action {
        ActionKind kind;
        address user;
        bytes32 requestHash;
        uint256[] timerIds;
    }

    IERC20 public immutable craftToken;
    uint64 public craftSeconds;
    uint256 public secondsPerToken;

    EnumerableSet.AddressSet private _collections;
    mapping(bytes32 orderId => Action) private _actions;
    /// Given up by the shop, which has sent the money back: nothing is ever done for it.
    mapping(bytes32 orderId => bool) public isClosed;
    Timer[] private _timers;
    mapping(address user => uint256[]) private _timerIdsOf;
    /// Timers before this place in a user's list are ready, so nothing has to walk over them again.
    mapping(address user => uint256) private _firstRunning;

    event Burned(bytes32 indexed orderId, address indexed user, uint256 indexed timerId, uint64 readyAt, Nft[] nfts);
    event Accelerated(
        bytes32 indexed orderId, address indexed user, uint256 amount, uint256 secondsSaved, uint256[] timerIds
    );
    event CollectionAllowed(address indexed collection, bool allowed);
    event CraftSecondsSet(uint64 craftSeconds);
    event SecondsPerTokenSet(uint256 secondsPerToken);

    event OrderGivenUp(bytes32 indexed orderId);

    error BadNftCount(uint256 count);
    error BadUser(address user);
    error CollectionNotAllowed(address collection);
    error NotOwnedByUser(address collection, uint256 tokenId, address user);
    error NotApprovedAlone(address collection, uint256 tokenId);
    error NotReceived(address collection, uint256 tokenId);
    error NothingToAccelerate(address user);
    error AmountTooSmall(uint256 amount);
    error TokensNotReceived(uint256 received, uint256 wanted);
    error OrderMismatch(bytes32 orderId);
    error OrderClosed(bytes32 orderId);

    constructor(address admin, IERC20 craftToken_, uint64 craftSeconds_, uint256 secondsPerToken_) {
        craftToken = craftToken_;
        craftSeconds = craftSeconds_;
        secondsPerToken = secondsPerToken_;
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(PAUSER_ROLE, admin);
    }

    /// @notice Takes 1 to 20 tokens of the user, all or none, and starts one crafting timer for them.
    /// @return timerIds The timer that was started.
    function burn(bytes32 orderId, address user, Nft[] calldata nfts)
        external
        onlyRole(OPERATOR_ROLE)
        returns (uint256[] memory timerIds)
    {
        bytes32 requestHash = keccak256(abi.encode(ActionKind.Burn, user, nfts));
        if (_isDone(orderId, requestHash)) return _actions[orderId].timerIds;
        _requireNotPaused();
        if (nfts.length == 0 || nfts.length > NFTS_MAX) revert BadNftCount(nfts.length);
        if (user == address(this)) revert BadUser(user);

        Timer memory started = _startTimer(user);
        timerIds = new uint256[](1);
        timerIds[0] = started.id;
        _actions[orderId] = Action(ActionKind.Burn, user, requestHash, timerIds);
        for (uint256 i = 0; i < nfts.length; i++) {
            _takeNft(user, nfts[i]);
        }
        emit Burned(orderId, user, started.id, started.readyAt, nfts);
    }

    /// @notice Takes craft tokens of the user and shortens their running timers by `amount * secondsPerToken / 1e18` seconds.
    /// The oldest running timer is shortened first; what is left when it is ready goes to the next one. Seconds that no running
    /// timer can use are lost.
    /// @return timerIds The timers that were shortened, oldest first.
    function accelerate(bytes32 orderId, address user, uint256 amount)
        external
        onlyRole(OPERATOR_ROLE)
        returns (uint256[] memory timerIds)
    {
        bytes32 requestHash = keccak256(abi.encode(ActionKind.Accelerate, user, amount));
        if (_isDone(orderId, requestHash)) return _actions[orderId].timerIds;
        _requireNotPaused();
        uint256 budget = (amount * secondsPerToken) / 1e18;
        if (budget == 0) revert AmountTooSmall(amount);

        uint256 saved;
        (timerIds, saved) = _shortenTimers(user, budget);
        if (timerIds.length == 0) revert NothingToAccelerate(user);
        _actions[orderId] = Action(ActionKind.Accelerate, user, requestHash, timerIds);
        _takeCraftTokens(user, amount);
        emit Accelerated(orderId, user, amount, saved, timerIds);
    }

    /// @notice Gives an order up for good, also while paused. Returns true if it was carried out already: then nothing changes.
    function closeOrder(bytes32 orderId) external onlyRole(OPERATOR_ROLE) returns (bool delivered) {
        if (_actions[orderId].kind != ActionKind.None) return true;
        if (isClosed[orderId]) return false;
        isClosed[orderId] = true;
        emit OrderGivenUp(orderId);
    }

    function setCollectionAllowed(address collection, bool allowed) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (allowed) _collections.add(collection);
        else _collections.remove(collection);
        emit CollectionAllowed(collection, allowed);
    }

    /// @notice For timers to come; running ones keep their end.
    function setCraftSeconds(uint64 craftSeconds_) external onlyRole(DEFAULT_ADMIN_ROLE) {
        craftSeconds = craftSeconds_;
        emit CraftSecondsSet(craftSeconds_);
    }

    function setSecondsPerToken(uint256 secondsPerToken_) external onlyRole(DEFAULT_ADMIN_ROLE) {
        secondsPerToken = secondsPerToken_;
        emit SecondsPerTokenSet(secondsPerToken_);
    }

    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(PAUSER_ROLE) {
        _unpause();
    }

    function isAllowed(address collection) external view returns (bool) {
        return _collections.contains(collection);
    }

    function collections() external view returns (address[] memory) {
        return _collections.values();
    }

    /// @notice Timer ids start at 1; an unknown id gives zeroes.
    function timer(uint256 id) external view returns (Timer memory found) {
        if (id > 0 && id <= _timers.length) found = _timers[id - 1];
    }

    /// @notice All timers of the user, oldest first. A timer is running while `readyAt` lies ahead.
    function timersOf(address user) external view returns (Timer[] memory timers) {
        uint256[] storage ids = _timerIdsOf[user];
        timers = new Timer[](ids.length);
        for (uint256 i = 0; i < ids.length; i++) {
            timers[i] = _timers[ids[i] - 1];
        }
    }

    /// @notice What was done for an order. `done` is false, and the rest empty, if nothing was.
    function actionOf(bytes32 orderId)
        external
        view
        returns (ActionKind kind, address user, bool done, uint256[] memory timerIds)
    {
        Action storage known = _actions[orderId];
        return (known.kind, known.user, known.kind != ActionKind.None, known.timerIds);
    }

    function _isDone(bytes32 orderId, bytes32 requestHash) private view returns (bool) {
        Action storage known = _actions[orderId];
        if (known.kind == ActionKind.None) {
            if (isClosed[orderId]) revert OrderClosed(orderId);
            return false;
        }
        if (known.requestHash != requestHash) revert OrderMismatch(orderId);
        return true;
    }

    function _startTimer(address user) private returns (Timer memory started) {
        uint64 startedAt = uint64(block.timestamp);
        started = Timer(_timers.length + 1, user, startedAt, startedAt + craftSeconds);
        _timers.push(started);
        _timerIdsOf[user].push(started.id);
    }

    /// @dev The owner is read before and after: there are ERC-721 contracts whose transferFrom does nothing and does not revert.
    /// The first reading also refuses the same token named twice. An approval of all tokens was not given for this one.
    function _takeNft(address user, Nft calldata nft) private {
        if (!_collections.contains(nft.collection)) revert CollectionNotAllowed(nft.collection);
        IERC721 collection = IERC721(nft.collection);
        if (collection.ownerOf(nft.tokenId) != user) revert NotOwnedByUser(nft.collection, nft.tokenId, user);
        if (collection.getApproved(nft.tokenId) != address(this)) revert NotApprovedAlone(nft.collection, nft.tokenId);
        collection.transferFrom(user, address(this), nft.tokenId);
        if (collection.ownerOf(nft.tokenId) != address(this)) revert NotReceived(nft.collection, nft.tokenId);
    }

    /// @dev Measured by balance: a token that takes a fee on transfer must not buy more time than it paid for.
    function _takeCraftTokens(address user, uint256 amount) private {
        uint256 before = craftToken.balanceOf(address(this));
        craftToken.safeTransferFrom(user, address(this), amount);
        uint256 received = craftToken.balanceOf(address(this)) - before;
        if (received != amount) revert TokensNotReceived(received, amount);
    }

    function _shortenTimers(address user, uint256 budget) private returns (uint256[] memory timerIds, uint256 saved) {
        uint256[] storage ids = _timerIdsOf[user];
        uint256 first = _firstRunning[user];
        while (first < ids.length && _timers[ids[first] - 1].readyAt <= block.timestamp) {
            first++;
        }
        _firstRunning[user] = first;

        uint256[] memory touched = new uint256[](ids.length - first);
        uint256 count = 0;
        for (uint256 i = first; i < ids.length && saved < budget; i++) {
            Timer storage running = _timers[ids[i] - 1];
            if (running.readyAt <= block.timestamp) continue;
            uint256 remaining = running.readyAt - block.timestamp;
            uint256 cut = remaining < budget - saved ? remaining : budget - saved;
            running.readyAt -= uint64(cut);
            saved += cut;
            touched[count++] = running.id;
        }
        timerIds = new uint256[](count);
        for (uint256 i = 0; i < count; i++) {
            timerIds[i] = touched[i];
        }
    }
}
