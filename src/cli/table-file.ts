import { readFile, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { JsonObject } from '../base/json.ts'
import { type Command, CommandRefusal, operatorOptions } from './command.ts'
import { operatorClient } from './shop-client.ts'

/** A table that can be taken out of the shop and put back: where it is served, and what its lines are. */
export type Table = {
  readonly noun: string
  readonly path: string
  readonly about: { readonly import: string; readonly export: string }
}

type Imported = JsonObject & { readonly added: number; readonly changed: number; readonly unchanged: number }

export const byOption = { by: { value: 'name', about: 'who does this; kept with the change' } }

/** `-` is the standard input. */
export function importCommand({ noun, path, about }: Table): Command {
  return {
    args: '<file>',
    about: about.import,
    options: {
      ...operatorOptions,
      ...byOption,
      check: { about: 'only tell what would be changed' },
    },
    examples: [
      [`sutler ${noun} import ${noun}.csv --check`, 'what would it do?'],
      [`sutler ${noun} import ${noun}.csv --by mara`, 'do it'],
    ],
    async run(call) {
      const [file = ''] = call.args
      const csv = await readTable(file, noun)
      const isTrial = call.flag('check')
      const request = { csv, trial: isTrial, ...byOf(call) }
      const answer = await operatorClient(call).post<Imported>(path, request)
      const { added, changed, unchanged } = answer
      const would = isTrial ? 'would be ' : ''
      const counts = [
        `${added} ${would}added`,
        `${changed} ${would}changed`,
        `${unchanged} ${isTrial ? 'would stay' : 'left'} as they were`,
      ]
      return { json: answer, text: counts.join(', ') }
    },
  }
}

function readTable(file: string, noun: string): Promise<string> {
  if (file === '-') return text(process.stdin)
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    const works = `\`sutler ${noun} export ${file}\` makes one to begin with`
    throw new CommandRefusal('file', `there is no file ${file}, and nothing was changed; ${works}`)
  })
}

export function exportCommand({ noun, path, about }: Table): Command {
  return {
    args: '[file]',
    about: about.export,
    options: operatorOptions,
    examples: [
      [`sutler ${noun} export ${noun}.csv`, 'into a file, which must not exist yet'],
      [`sutler ${noun} export | less`, 'to look at'],
    ],
    async run(call) {
      const [file] = call.args
      const { csv } = await operatorClient(call).get<{ csv: string }>(path)
      const lines = csv.split('\r\n').length - 2
      if (file === undefined) return { json: { csv }, text: csv.replace(/\r\n$/, '') }
      await writeFile(file, csv, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
        throw new CommandRefusal(
          'file_exists',
          `${file} exists and was left as it is; name another file: sutler ${noun} export new-${noun}.csv`,
        )
      })
      return { json: { file, lines }, text: `${lines} lines in ${file}` }
    },
  }
}

export function byOf(call: { option(name: string): string | undefined }): { readonly by?: string } {
  const by = call.option('by')
  return by === undefined ? {} : { by }
}
