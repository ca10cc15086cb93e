import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBatches, OddAnswer, type RpcRequest, TooLarge } from './transport.ts'

type Letter = RpcRequest | readonly RpcRequest[]

const request = (method: string, id = 7): RpcRequest => ({ jsonrpc: '2.0', id, method, params: [] })
const isBatch = (letter: Letter): letter is readonly RpcRequest[] => !('method' in letter)
const answerTo = ({ id, method }: RpcRequest) => ({ id, result: method })

/** A node, the letters that it got, and how it answers those with several questions. */
function node(answerBatch: (letter: readonly RpcRequest[]) => unknown) {
  const letters: string[] = []
  const ask = inBatches(async (letter) => {
    letters.push(isBatch(letter) ? letter.map(({ method }) => method).join('+') : letter.method)
    return isBatch(letter) ? answerBatch(letter) : answerTo(letter)
  })
  const askAll = (...methods: readonly string[]) => Promise.all(methods.map((method) => ask(request(method))))
  return { letters, ask, askAll }
}
const results = (answers: readonly unknown[]) => answers.map((answer) => (answer as { result?: unknown })?.result)

test('questions of one turn go out in one letter, and each gets its own answer, in whatever order they come', async () => {
  const { letters, askAll, ask } = node((letter) => letter.map(answerTo).toReversed())
  assert.deepEqual(results(await askAll('a', 'b', 'c')), ['a', 'b', 'c'])
  await ask(request('d'))
  assert.deepEqual(letters, ['a+b+c', 'd'])
})

test('no letter has more than ten questions', async () => {
  const { letters, askAll } = node((letter) => letter.map(answerTo))
  const names = Array.from({ length: 23 }, (_, index) => `q${index}`)
  assert.deepEqual(results(await askAll(...names)), names)
  assert.deepEqual(
    letters.map((letter) => letter.split('+').length),
    [10, 10, 3],
  )
})

test('a transaction always goes alone, and so does a search', async () => {
  const { letters, askAll } = node((letter) => letter.map(answerTo))
  await askAll('a', 'eth_sendRawTransaction', 'b', 'eth_getLogs')
  assert.deepEqual(letters, ['eth_sendRawTransaction', 'eth_getLogs', 'a+b'])
})

for (const [how, answerBatch] of [
  ['with one error', () => ({ error: { code: -32600, message: 'invalid request' } })],
  [
    'with the same error for each',
    (letter: readonly RpcRequest[]) =>
      letter.map(({ id }) => ({ id, error: { message: 'Batch of more than 1 is not allowed' } })),
  ],
  [
    'with a page of words',
    () => {
      throw new OddAnswer('status 400, and the body is not JSON')
    },
  ],
] as const)
  test(`a node that refuses batches ${how} is asked one by one, from then on at once`, async () => {
    const { letters, askAll } = node(answerBatch)
    assert.deepEqual(results(await askAll('a', 'b')), ['a', 'b'])
    assert.deepEqual(results(await askAll('c', 'd')), ['c', 'd'])
    assert.deepEqual(letters, ['a+b', 'a', 'b', 'c', 'd'])
  })

test('a node that is silent from the first is not asked one by one either, and may show later that it takes batches', async () => {
  let isSilent = true
  const { letters, askAll } = node((letter) => {
    if (isSilent) throw new Error('no answer within 50 ms')
    return letter.map(answerTo)
  })
  await assert.rejects(askAll('a', 'b'), /no answer/)
  isSilent = false
  assert.deepEqual(results(await askAll('c', 'd')), ['c', 'd'])
  assert.deepEqual(letters, ['a+b', 'c+d'])
})

test('a node that takes batches and is silent once is silent to all who asked, and not asked one by one', async () => {
  let isSilent = false
  const { letters, askAll } = node((letter) => {
    if (isSilent) throw new Error('no answer within 50 ms')
    return letter.map(answerTo)
  })
  await askAll('a', 'b')
  isSilent = true
  await assert.rejects(askAll('c', 'd'), /no answer/)
  isSilent = false
  assert.deepEqual(results(await askAll('e', 'f')), ['e', 'f'])
  assert.deepEqual(letters, ['a+b', 'c+d', 'e+f'])
})

test('E38: the questions of a letter whose answer is too large are asked one by one, and the next letter has several again', async () => {
  const { letters, askAll } = node((letter) => {
    if (letter.some(({ method }) => method === 'huge')) throw new TooLarge()
    return letter.map(answerTo)
  })
  assert.deepEqual(results(await askAll('a', 'huge')), ['a', 'huge'])
  assert.deepEqual(results(await askAll('b', 'c')), ['b', 'c'])
  assert.deepEqual(letters, ['a+huge', 'a', 'huge', 'b+c'])
})

test('a question that a node leaves out of its answers has none, and the others have theirs', async () => {
  const { askAll } = node((letter) => letter.slice(1).map(answerTo))
  assert.deepEqual(results(await askAll('a', 'b')), [undefined, 'b'])
})
