// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title A collection whose tokens may be burned for crafting. A plain ERC-721 with a minter.
contract BurnableCollection is ERC721, AccessControl {
    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");

    string private _uri;
    uint256 private _lastTokenId;

    constructor(string memory name_, string memory symbol_, string memory baseUri, address admin)
        ERC721(name_, symbol_)
    {
        _uri = baseUri;
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(MINTER_ROLE, admin);
    }

    /// @notice Mints `quantity` tokens and returns the first id; the others follow it.
    function mint(address to, uint256 quantity) external onlyRole(MINTER_ROLE) returns (uint256 firstTokenId) {
        firstTokenId = _lastTokenId + 1;
        _lastTokenId += quantity;
        for (uint256 i = 0; i < quantity; i++) {
            _safeMint(to, firstTokenId + i);
        }
    }

    function supportsInterface(bytes4 interfaceId) public view override(ERC721, AccessControl) returns (bool) {
        return super.supportsInterface(interfaceId);
    }

    function _baseURI() internal view override returns (string memory) {
        return _uri;
    }
}
