import { multicall3 } from '../artifacts/Multicall3.ts'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { Problem } from '../base/problem.ts'
import { blockTag } from './block-tag.ts'
import { contractAt, type Question, Reverted, revertedOf } from './contract.ts'
import { type Rpc, RpcError } from './rpc.ts'

/** Null: the contract refused to answer, is not there, or said something that is no answer. */
type Answers<Questions extends readonly Question<unknown>[]> = {
  readonly [Index in keyof Questions]: Questions[Index] extends Question<infer Answer> ? Answer | null : never
}

/** Asks many questions at one block, so that the answers fit together. One call where Multicall3 exists, parallel calls elsewhere. */
export type BatchReader = <const Questions extends readonly Question<unknown>[]>(
  questions: Questions,
  block: bigint | 'latest',
) => Promise<Answers<Questions>>

/** The same address on every chain that has it. */
const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

export function createBatchReader(rpc: Rpc): BatchReader {
  const multicall = contractAt(rpc, MULTICALL3, multicall3.abi)
  let known: Promise<boolean> | null = null

  /** Asked once: a contract does not come or go while we run. A question that failed is asked again. */
  function hasMulticall(): Promise<boolean> {
    known ??= rpc.request<Hex>('eth_getCode', [MULTICALL3, 'latest']).then((code) => code !== '0x')
    known.catch(() => {
      known = null
    })
    return known
  }

  async function ask<Answer>(question: Question<Answer>, tag: string): Promise<Answer | null> {
    try {
      return decoded(question, await rpc.request<Hex>('eth_call', [{ to: question.to, data: question.data }, tag]))
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      if (revertedOf(error, []) instanceof Reverted) return null
      throw new Problem('chain_unavailable', `Chain ${rpc.chainId} could not be read at ${tag}; try again shortly.`, {
        cause: error,
      })
    }
  }

  async function askAtOnce(questions: readonly Question<unknown>[], tag: string): Promise<readonly unknown[]> {
    const calls = questions.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))
    const results = await ask(multicall.question('aggregate3', [calls]), tag)
    if (!results) throw new Problem('chain_unavailable', `Chain ${rpc.chainId} could not be read; try again shortly.`)
    return questions.map((question, index) => {
      const { success, returnData } = results[index]!
      return success ? decoded(question, returnData) : null
    })
  }

  return async (questions, block) => {
    const tag = block === 'latest' ? block : blockTag(block)
    const answers = (await hasMulticall())
      ? await askAtOnce(questions, tag)
      : await Promise.all(questions.map((question) => ask(question, tag)))
    return answers as Answers<typeof questions>
  }
}

/** Other people's contracts answer what they like; what cannot be read is no answer. */
function decoded<Answer>(question: Question<Answer>, data: Hex): Answer | null {
  try {
    return question.decode(data)
  } catch {
    return null
  }
}
