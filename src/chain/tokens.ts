import { parseAbi } from 'viem/utils'
import type { Address } from '../base/address.ts'
import { contractAt } from './contract.ts'
import type { Rpc } from './rpc.ts'

// What we ask of other people's tokens, and what their approvals are called. Nothing in here moves anything.

export const erc721Abi = parseAbi([
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function ownerOf(uint256 tokenId) view returns (address)',
  'function getApproved(uint256 tokenId) view returns (address)',
  'function isApprovedForAll(address owner, address operator) view returns (bool)',
  'function approve(address to, uint256 tokenId)',
])

export const erc20Abi = parseAbi([
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function approve(address spender, uint256 amount)',
])

/** What most stablecoins have, and not every token. */
const pausableAbi = parseAbi(['function paused() view returns (bool)'])

/** What a buyer is told, and whoever asks for our health. */
export const TOKEN_PAUSED =
  'The token of this protocol is paused by whoever issues it; nothing was taken, try again later.'

/** Has its issuer paused it? Nobody can pay with it then, and nothing can go back. A token that cannot be paused never is. */
export function isTokenPaused(rpc: Rpc, token: Address): Promise<boolean> {
  return contractAt(rpc, token, pausableAbi)
    .read('paused', [])
    .catch(() => false)
}

/** Why a token refuses a transfer, in the standard's words (ERC-6093). They come through the contract that asked for it. */
export const tokenErrors = parseAbi([
  'error ERC721NonexistentToken(uint256 tokenId)',
  'error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
])
