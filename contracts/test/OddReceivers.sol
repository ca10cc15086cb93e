// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";

/// A contract that has never heard of ERC-721.
contract DeafReceiver {}

/// A contract that refuses every token with a reason.
contract RejectingReceiver is IERC721Receiver {
    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        revert("RejectingReceiver: no thanks");
    }
}
