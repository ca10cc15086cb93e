// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SaleLots} from "./SaleLots.sol";

/// @title Sale lots of the sandbox: a lot can be told to fail, as test cards do, so that a buyer sees a refund on demand.
contract SandboxSaleLots is SaleLots {
    mapping(uint256 saleId => bool) public mintReverts;

    error SandboxMintReverts(uint256 saleId);

    constructor(string memory name_, string memory symbol_, address admin) SaleLots(name_, symbol_, admin) {}

    function setMintReverts(uint256 saleId, bool reverts) external onlyRole(LOT_MANAGER_ROLE) {
        mintReverts[saleId] = reverts;
    }

    /// @dev Every trial passes, and the lot fails only in a real transaction, after the money was taken, as the worst faults of the
    /// real world do. What a trial pays tells nothing: the shop tries with the very terms that it signs. But a trial on the dev chain
    /// runs in the newest block, and a transaction in the next one, whose randomness is the hash of the block before it.
    function _beforeLotMint(uint256 saleId) internal view override {
        bool isReal = bytes32(block.prevrandao) == blockhash(block.number - 1);
        if (mintReverts[saleId] && isReal) revert SandboxMintReverts(saleId);
    }
}
