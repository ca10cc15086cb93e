// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// @title The lots a shop sells, and the tokens it has handed out for them.
/// @notice A lot is a price, a supply, a window of time, a name and a URI under one sale id. The shop reads its terms here and
/// mints here, once per paid order.
/// @dev Supply and pause are enforced by `mint`; price and window are not. They decide what may be *sold*, and the shop checks
/// them before it takes money. A lot that closes between payment and mint still owes the buyer a token.
contract SaleLots is ERC721, AccessControl, Pausable {
    bytes32 public constant LOT_MANAGER_ROLE = keccak256("LOT_MANAGER_ROLE");
    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");

    /// What the lot manager decides.
    struct Terms {
        string name;
        string uri;
        uint256 unitPrice; // In millionths of a US dollar.
        uint256 supply;
        uint64 opensAt; // Unix seconds; 0 means open since ever.
        uint64 closesAt; // Unix seconds; 0 means it never closes.
    }

    /// Terms and what became of them. `exists` tells an unknown sale id from a lot of nothing.
    struct Lot {
        bool exists;
        uint256 minted;
        Terms terms;
    }

    struct Order {
        uint256 saleId;
        uint256 quantity;
        address beneficiary;
        uint256 firstTokenId;
    }

    uint256[] private _lotIds;
    uint256 private _lastTokenId;
    mapping(uint256 saleId => Lot) private _lots;
    mapping(uint256 saleId => mapping(address minter => uint256)) public mintedBy;
    mapping(bytes32 orderId => Order) private _orders;
    mapping(uint256 tokenId => uint256 saleId) private _saleOf;
    /// Given up by the shop, which has sent the money back: nothing is ever minted for it.
    mapping(bytes32 orderId => bool) public isClosed;

    event LotSet(uint256 indexed saleId, Terms terms);
    event LotMinted(
        bytes32 indexed orderId,
        uint256 indexed saleId,
        address indexed beneficiary,
        uint256 quantity,
        uint256 firstTokenId
    );

    event OrderGivenUp(bytes32 indexed orderId);

    error UnknownLot(uint256 saleId);
    error SupplyExceeded(uint256 saleId, uint256 left, uint256 wanted);
    error SupplyBelowMinted(uint256 saleId, uint256 minted);
    error NothingToMint();
    error OrderMismatch(bytes32 orderId);
    error OrderClosed(bytes32 orderId);

    constructor(string memory name_, string memory symbol_, address admin) ERC721(name_, symbol_) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(LOT_MANAGER_ROLE, admin);
        _grantRole(PAUSER_ROLE, admin);
    }

    /// @notice Creates the lot, or changes its terms. What was minted stays minted.
    function setLot(uint256 saleId, Terms calldata terms) external onlyRole(LOT_MANAGER_ROLE) {
        Lot storage known = _lots[saleId];
        if (terms.supply < known.minted) revert SupplyBelowMinted(saleId, known.minted);
        if (!known.exists) {
            known.exists = true;
            _lotIds.push(saleId);
        }
        known.terms = terms;
        emit LotSet(saleId, terms);
    }

    /// @notice Mints `quantity` tokens of a lot to the beneficiary of a paid order and returns the first token id; the others
    /// follow it. The same call under the same order id mints nothing more and returns the same; it even answers while paused,
    /// because a shop that asks again after a crash must never take a delivered order for an undelivered one.
    function mint(bytes32 orderId, uint256 saleId, uint256 quantity, address beneficiary)
        external
        onlyRole(MINTER_ROLE)
        returns (uint256 firstTokenId)
    {
        Order storage known = _orders[orderId];
        if (known.firstTokenId != 0) {
            bool same = known.saleId == saleId && known.quantity == quantity && known.beneficiary == beneficiary;
            if (!same) revert OrderMismatch(orderId);
            return known.firstTokenId;
        }
        if (isClosed[orderId]) revert OrderClosed(orderId);
        _requireNotPaused();
        return _mintNew(orderId, saleId, quantity, beneficiary);
    }

    /// @notice Gives an order up for good, also while paused. Returns true if it was delivered already: then nothing changes.
    function closeOrder(bytes32 orderId) external onlyRole(MINTER_ROLE) returns (bool delivered) {
        if (_orders[orderId].firstTokenId != 0) return true;
        if (isClosed[orderId]) return false;
        isClosed[orderId] = true;
        emit OrderGivenUp(orderId);
    }

    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(PAUSER_ROLE) {
        _unpause();
    }

    function lot(uint256 saleId) external view returns (Lot memory) {
        return _lots[saleId];
    }

    function lotCount() external view returns (uint256) {
        return _lotIds.length;
    }

    /// @notice Up to `limit` sale ids in the order in which the lots were created, starting at `offset`.
    function lotIds(uint256 offset, uint256 limit) external view returns (uint256[] memory page) {
        uint256 left = offset < _lotIds.length ? _lotIds.length - offset : 0;
        page = new uint256[](left < limit ? left : limit);
        for (uint256 i = 0; i < page.length; i++) {
            page[i] = _lotIds[offset + i];
        }
    }

    /// @notice What was minted for an order; zeroes if nothing was.
    function orderOf(bytes32 orderId)
        external
        view
        returns (uint256 saleId, uint256 quantity, address beneficiary, uint256 firstTokenId)
    {
        Order storage known = _orders[orderId];
        return (known.saleId, known.quantity, known.beneficiary, known.firstTokenId);
    }

    function saleOf(uint256 tokenId) external view returns (uint256) {
        _requireOwned(tokenId);
        return _saleOf[tokenId];
    }

    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        _requireOwned(tokenId);
        return _lots[_saleOf[tokenId]].terms.uri;
    }

    function supportsInterface(bytes4 interfaceId) public view override(ERC721, AccessControl) returns (bool) {
        return super.supportsInterface(interfaceId);
    }

    /// @dev Runs before anything is written. The sandbox makes it revert for one lot.
    function _beforeLotMint(uint256 saleId) internal view virtual {}

    function _mintNew(bytes32 orderId, uint256 saleId, uint256 quantity, address beneficiary)
        private
        returns (uint256 firstTokenId)
    {
        Lot storage sold = _lots[saleId];
        if (!sold.exists) revert UnknownLot(saleId);
        if (quantity == 0) revert NothingToMint();
        uint256 left = sold.terms.supply - sold.minted;
        if (quantity > left) revert SupplyExceeded(saleId, left, quantity);
        _beforeLotMint(saleId);

        // Everything is written down before the first receiver is called: it may call back into this contract.
        firstTokenId = _lastTokenId + 1;
        _lastTokenId += quantity;
        sold.minted += quantity;
        mintedBy[saleId][msg.sender] += quantity;
        _orders[orderId] = Order(saleId, quantity, beneficiary, firstTokenId);
        for (uint256 i = 0; i < quantity; i++) {
            _saleOf[firstTokenId + i] = saleId;
            _safeMint(beneficiary, firstTokenId + i);
        }
        emit LotMinted(orderId, saleId, beneficiary, quantity, firstTokenId);
    }
}
