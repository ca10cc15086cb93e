import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nicknameField } from '../../domain/fields.ts'
import { reportSchema } from './schema.ts'

const UNSEEN = [
  ...[0x00, 0x0a, 0x7f, 0xad, 0x34f, 0x61c, 0x115f, 0x17b4, 0x180e, 0x200b, 0x200d, 0x200f, 0x2028, 0x202e, 0x2060],
  ...[0x2066, 0x2069, 0x3164, 0xd800, 0xe000, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0x1d173, 0xe0041, 0xe0100],
].map((point) => String.fromCodePoint(point))

test('N-06: names hold nothing that is not seen, and nothing that turns the reading direction', () => {
  const isName = (text: string) => nicknameField(64).safeParse(text).success
  const isUser = (userId: string) => reportSchema.safeParse({ userId, txHash: `0x${'ab'.repeat(32)}` }).success
  for (const mark of UNSEEN) {
    const point = `U+${mark.codePointAt(0)!.toString(16)}`
    assert.ok(!isName(`A${mark}da`) && !isUser(`A${mark}da`), point)
  }
  for (const name of ['Ada', 'Ada Lovelace', "O'Neil", 'Żółw', '漢字', 'عمر', 'नमस्ते', '🗝', 'player-1'])
    assert.ok(isName(name) && isUser(name), name)
})
