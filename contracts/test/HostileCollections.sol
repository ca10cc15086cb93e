// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {CraftController} from "../src/CraftController.sol";

/// Calls the controller back while one of its tokens is taken: the same action again, and another one with the same token.
contract ReentrantCollection is ERC721("Again", "AGN") {
    CraftController public immutable controller;
    bytes32 public orderId;
    bool public sameWentThrough;
    bool public otherWentThrough;

    constructor(CraftController controller_) {
        controller = controller_;
    }

    function mint(address to, uint256 tokenId) external {
        _mint(to, tokenId);
    }

    function aim(bytes32 orderId_) external {
        orderId = orderId_;
    }

    function transferFrom(address from, address to, uint256 tokenId) public override {
        CraftController.Nft[] memory nfts = new CraftController.Nft[](1);
        nfts[0] = CraftController.Nft(address(this), tokenId);
        try controller.burn(orderId, from, nfts) {
            sameWentThrough = true;
        } catch {}
        try controller.burn(keccak256("another"), from, nfts) {
            otherWentThrough = true;
        } catch {}
        super.transferFrom(from, to, tokenId);
    }
}

/// Answers who owns a token with as much as memory can hold, and takes all gas for it.
contract BombCollection {
    function ownerOf(uint256) external pure {
        assembly ("memory-safe") {
            return(0, 10000000)
        }
    }

    function isApprovedForAll(address, address) external pure returns (bool) {
        return true;
    }

    function transferFrom(address, address, uint256) external pure {}
}
