// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// A smart wallet of one owner: signs by ERC-1271, receives ERC-721, and does what its owner says.
contract TestSmartWallet is IERC1271, IERC721Receiver {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    receive() external payable {}

    function execute(address target, bytes calldata data) external returns (bytes memory) {
        require(msg.sender == owner, "TestSmartWallet: caller is not the owner");
        (bool success, bytes memory result) = target.call(data);
        require(success, "TestSmartWallet: call failed");
        return result;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, ECDSA.RecoverError fault,) = ECDSA.tryRecover(hash, signature);
        bool valid = fault == ECDSA.RecoverError.NoError && signer == owner;
        return valid ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return IERC721Receiver.onERC721Received.selector;
    }
}
