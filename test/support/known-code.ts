import { createRequire } from 'node:module'

// The EVM looks through all of a contract's code for places to jump to, each time the contract is called. Tests call the same few contracts
// tens of thousands of times, and that look was a twentieth to an eighth of what they cost. What it found is kept for as long as the code is.

type Found = object
type Interpreter = {
  readonly _evm: { readonly _opcodeMap: object }
  _getValidJumpDestinations(code: Uint8Array): Found
}

const load = createRequire(import.meta.resolve('@ethereumjs/evm'))
const { prototype } = load('./interpreter.js').Interpreter as { readonly prototype: Interpreter }
const look = prototype._getValidJumpDestinations
/** By the rules of a chain, then by the code itself. */
const known = new WeakMap<object, WeakMap<Uint8Array, Found>>()

prototype._getValidJumpDestinations = function (code) {
  const rules = this._evm._opcodeMap
  const ofRules = known.get(rules) ?? new WeakMap<Uint8Array, Found>()
  const found = ofRules.get(code) ?? look.call(this, code)
  known.set(rules, ofRules.set(code, found))
  return found
}
