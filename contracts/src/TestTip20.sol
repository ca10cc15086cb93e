// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Stand-in for Tempo's TIP-20 precompile, planted at pathUSD's own address on the dev chain.
/// @notice What mppx, viem/tempo and wallets read and call: ERC-20, memos, permit, token metadata. Left out: TIP-403 policies,
/// rewards, roles, quote tokens.
/// @dev No constructor and no initial storage, as with TestUsdc.
contract TestTip20 {
    /// The dev chain's system caller (EIP-4788's). No key exists for it, so no user transaction can come from here.
    address private constant SYSTEM = 0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE;
    address private constant FEE_MANAGER = 0xfeEC000000000000000000000000000000000000;
    bytes12 private constant TOKEN_PREFIX = 0x20c000000000000000000000;

    string public constant name = "pathUSD";
    string public constant symbol = "pathUSD";
    string public constant currency = "USD";
    string public constant logoURI = "";
    uint8 public constant decimals = 6;
    uint256 public constant supplyCap = type(uint128).max;
    uint64 public constant transferPolicyId = 1;
    address public constant quoteToken = address(0);
    bool public constant paused = false;

    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) public nonces;

    event Transfer(address indexed from, address indexed to, uint256 amount);
    event Approval(address indexed owner, address indexed spender, uint256 amount);
    event Mint(address indexed to, uint256 amount);
    event TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed memo);

    error InsufficientBalance(uint256 available, uint256 required, address token);
    error InsufficientAllowance();
    error InvalidRecipient();
    error Unauthorized();
    error PermitExpired();
    error InvalidSignature();

    modifier onlySystem() {
        if (msg.sender != SYSTEM) revert Unauthorized();
        _;
    }

    // The dev chain's own hooks: faucet and gas.

    function mint(address to, uint256 amount) external onlySystem {
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
        emit Mint(to, amount);
    }

    /// @notice Sets the highest possible fee aside before the transaction runs, so that a payer who owns exactly the price
    /// cannot spend it twice: once on the goods, once on gas. No event: the payer has not paid yet.
    function holdFee(address payer, uint256 maximum) external onlySystem {
        uint256 balance = balanceOf[payer];
        if (balance < maximum) revert InsufficientBalance(balance, maximum, address(this));
        balanceOf[payer] = balance - maximum;
        balanceOf[FEE_MANAGER] += maximum;
    }

    /// @notice Gives back what the transaction did not use. One Transfer for the fee itself remains, as on Tempo.
    function settleFee(address payer, uint256 maximum, uint256 used) external onlySystem {
        balanceOf[FEE_MANAGER] -= maximum - used;
        balanceOf[payer] += maximum - used;
        emit Transfer(payer, FEE_MANAGER, used);
    }

    // TIP-20

    function transfer(address to, uint256 amount) external returns (bool) {
        _transfer(msg.sender, to, amount);
        return true;
    }

    function transferWithMemo(address to, uint256 amount, bytes32 memo) external {
        _transfer(msg.sender, to, amount);
        emit TransferWithMemo(msg.sender, to, amount, memo);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        _spendAllowance(from, amount);
        _transfer(from, to, amount);
        return true;
    }

    function transferFromWithMemo(address from, address to, uint256 amount, bytes32 memo) external returns (bool) {
        _spendAllowance(from, amount);
        _transfer(from, to, amount);
        emit TransferWithMemo(from, to, amount, memo);
        return true;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        _approve(msg.sender, spender, amount);
        return true;
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        if (block.timestamp > deadline) revert PermitExpired();
        bytes32 structHash = keccak256(
            abi.encode(
                keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"),
                owner,
                spender,
                value,
                nonces[owner]++,
                deadline
            )
        );
        address signer = ecrecover(keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), structHash)), v, r, s);
        if (signer == address(0) || signer != owner) revert InvalidSignature();
        _approve(owner, spender, value);
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(name)),
                keccak256("1"),
                block.chainid,
                address(this)
            )
        );
    }

    function _approve(address owner, address spender, uint256 amount) private {
        allowance[owner][spender] = amount;
        emit Approval(owner, spender, amount);
    }

    function _spendAllowance(address from, uint256 amount) private {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed == type(uint256).max) return;
        if (allowed < amount) revert InsufficientAllowance();
        allowance[from][msg.sender] = allowed - amount;
    }

    function _transfer(address from, address to, uint256 amount) private {
        // TIP-20 forbids the zero address and token addresses as recipients.
        if (to == address(0) || bytes12(bytes20(to)) == TOKEN_PREFIX) revert InvalidRecipient();
        uint256 balance = balanceOf[from];
        if (balance < amount) revert InsufficientBalance(balance, amount, address(this));
        unchecked {
            balanceOf[from] = balance - amount;
            balanceOf[to] += amount;
        }
        emit Transfer(from, to, amount);
    }
}
