import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

// Run by `npm pack`. Node runs our TypeScript in a checkout and refuses it under node_modules, so the package carries the same files with
// their types blanked out: each line and column stays where it was, and a stack trace of the package reads as one of the checkout.

const TARGET = 'dist'

function javascriptOf(file: string): string {
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'))
  // Whatever names another of our files: imports of both kinds, and the files that worker threads start from.
  const plain = code.replaceAll(/(?<=\b(?:from |import |import\(|new URL\())'(\.[^']+)\.ts'/g, (_, path: string) => {
    if (!existsSync(join(dirname(file), `${path}.ts`))) throw new Error(`${file} names ${path}.ts, which is not there`)
    return `'${path}.js'`
  })
  const left = /'\.[^'\n]*\.ts'/.exec(plain)?.[0]
  if (left !== undefined) throw new Error(`${file} names ${left} in a way that pack.ts does not know`)
  return plain
}

rmSync(TARGET, { recursive: true, force: true })
for (const file of globSync('{src,examples}/**/*.ts')) {
  if (/\.(test|cases)\.ts$/.test(file)) continue
  const target = join(TARGET, file.replace(/^src\//, '').replace(/\.ts$/, '.js'))
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, javascriptOf(file))
}
cpSync('src/store/migrations', join(TARGET, 'store/migrations'), { recursive: true })
for (const file of globSync('src/**/*.br')) cpSync(file, join(TARGET, file.replace(/^src\//, '')))
