// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// An ERC-721 whose transferFrom succeeds and moves nothing.
contract LyingCollection is ERC721("Liar", "LIE") {
    function mint(address to, uint256 tokenId) external {
        _mint(to, tokenId);
    }

    function transferFrom(address, address, uint256) public pure override {}
}

/// An ERC-20 that keeps one percent of each transfer.
contract TaxedToken is ERC20("Taxed", "TAX") {
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (from == address(0) || to == address(0)) return super._update(from, to, value);
        super._update(from, address(0), value / 100);
        super._update(from, to, value - value / 100);
    }
}

/// A contract with every fault a call can have, for the chain's own tests.
contract Troublemaker {
    uint256 public counter;

    error Custom(uint256 code, address caller);

    event Counted(address indexed caller, uint256 value);

    function count() external payable returns (uint256) {
        counter++;
        emit Counted(msg.sender, counter);
        return counter;
    }

    function revertWithText() external pure {
        revert("no such luck");
    }

    function revertWithError() external view {
        revert Custom(7, msg.sender);
    }

    function panic() external pure returns (uint256) {
        uint256[] memory empty = new uint256[](0);
        return empty[1];
    }

    function burnGas() external {
        while (true) counter++;
    }

    function now_() external view returns (uint256 number, uint256 timestamp, bytes32 parent) {
        return (block.number, block.timestamp, blockhash(block.number - 1));
    }
}
