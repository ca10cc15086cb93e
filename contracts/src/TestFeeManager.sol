// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Stand-in for Tempo's fee manager: the part that clients use to choose a fee token.
/// @dev Gas itself is held and settled by TestTip20, called by the dev chain.
contract TestFeeManager {
    mapping(address => address) public userTokens;
    mapping(address => address) public validatorTokens;

    event UserTokenSet(address indexed user, address indexed token);

    function setUserToken(address token) external {
        userTokens[msg.sender] = token;
        emit UserTokenSet(msg.sender, token);
    }
}
