// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Shows what a call can learn about the terms it runs on.
contract Mirror {
    function terms() external view returns (uint256 price, uint256 baseFee, uint256 gas, uint256 balance) {
        return (tx.gasprice, block.basefee, gasleft(), msg.sender.balance);
    }
}
