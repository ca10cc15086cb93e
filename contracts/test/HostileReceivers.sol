// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {SaleLots} from "../src/SaleLots.sol";

/// Receives tokens kindly as long as it takes the call for a trial, and burns all the gas there is when it takes it for real.
abstract contract Griefer is IERC721Receiver {
    uint256 private _sink;

    function onERC721Received(address, address, uint256, bytes calldata) external returns (bytes4) {
        if (_isReal()) while (true) _sink++;
        return IERC721Receiver.onERC721Received.selector;
    }

    function _isReal() internal view virtual returns (bool);
}

/// A trial costs nothing per gas.
contract PriceWatcher is Griefer {
    function _isReal() internal view override returns (bool) {
        return tx.gasprice != 0;
    }
}

/// A trial runs in a block without a base fee.
contract BaseFeeWatcher is Griefer {
    function _isReal() internal view override returns (bool) {
        return block.basefee != 0;
    }
}

/// A trial has gas without end.
contract GasWatcher is Griefer {
    function _isReal() internal view override returns (bool) {
        return gasleft() < 5_000_000;
    }
}

/// Changes its mind when its owner says so: no trial can foresee that.
contract MoodyReceiver is Griefer {
    bool public isAngry;

    function anger() external {
        isAngry = true;
    }

    function _isReal() internal view override returns (bool) {
        return isAngry;
    }
}

/// Refuses in the words of the contract that mints: as if that were paused, and only had to be waited for.
contract PauseLiar is IERC721Receiver {
    bool public isAngry;

    error EnforcedPause();

    function anger() external {
        isAngry = true;
    }

    function onERC721Received(address, address, uint256, bytes calldata) external view returns (bytes4) {
        if (isAngry) revert EnforcedPause();
        return IERC721Receiver.onERC721Received.selector;
    }
}

/// Needs more gas to take one token than a whole delivery may cost, always.
contract GluttonReceiver is IERC721Receiver {
    mapping(uint256 => uint256) private _kept;

    function onERC721Received(address, address, uint256 tokenId, bytes calldata) external returns (bytes4) {
        for (uint256 i = 0; i < 30; i++) _kept[tokenId * 100 + i] = tokenId + i + 1;
        return IERC721Receiver.onERC721Received.selector;
    }
}

/// Calls the sale back while it is being minted to: the same order again, another one, and a transfer of what it just got.
contract ReentrantReceiver is IERC721Receiver {
    SaleLots public immutable sale;
    bytes32 public orderId;
    uint256 public saleId;
    uint256 public calls;
    uint256 public answered;
    bool public otherWentThrough;

    constructor(SaleLots sale_) {
        sale = sale_;
    }

    function aim(bytes32 orderId_, uint256 saleId_) external {
        (orderId, saleId) = (orderId_, saleId_);
    }

    function onERC721Received(address, address, uint256, bytes calldata) external returns (bytes4) {
        calls++;
        if (calls == 1) {
            try sale.mint(orderId, saleId, 2, address(this)) returns (uint256 first) {
                answered = first;
            } catch {}
            try sale.mint(keccak256("another"), saleId, 1, address(this)) {
                otherWentThrough = true;
            } catch {}
        }
        return IERC721Receiver.onERC721Received.selector;
    }
}

/// A wallet that calls every signature its own, after work that costs more gas than a settlement may.
contract HeavyWallet is IERC1271 {
    function isValidSignature(bytes32 hash, bytes calldata) external view returns (bytes4) {
        bytes32 work = hash;
        uint256 start = gasleft();
        while (start - gasleft() < 600_000) work = keccak256(abi.encode(work));
        return work == 0 ? bytes4(0) : IERC1271.isValidSignature.selector;
    }
}
