import assert from 'node:assert/strict'
import { relative } from 'node:path'
import { after, test } from 'node:test'
import type { Expression, Node, SourceFile } from 'typescript/unstable/ast'
import {
  isArrowFunction,
  isBinaryExpression,
  isCallExpression,
  isExpressionStatement,
  isFunctionExpression,
  isIdentifier,
  isMethodDeclaration,
  isNewExpression,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
} from 'typescript/unstable/ast/is'
import { API, type Project, SignatureKind, type Type, TypeFlags, type TypeReference } from 'typescript/unstable/sync'

// A promise that nobody waits for is work whose failure nobody hears. Biome finds those of our own functions; it does not read the
// types of packages or of Node, so the compiler is asked here about every statement and every callback (docs/decisions/0026).

const root = process.cwd()
const virtual: Readonly<Record<string, string>> = {
  [`${root}/probe/tsconfig.json`]: JSON.stringify({
    extends: '../tsconfig.json',
    include: ['../src'],
    files: ['./probe.ts'],
  }),
  [`${root}/probe/probe.ts`]: `
    import { EventEmitter } from 'node:events'
    import { setTimeout as sleep } from 'node:timers/promises'
    import pg from 'pg'
    const work = async () => {}
    const client = new pg.Client()
    const settled: () => void = () => {}
    work() // 1
    sleep(1) // 2
    client.query('select 1') // 3
    process.argv[2] && work() // 4
    sleep(1).then(() => {}) // 5
    sleep(1).finally(settled) // 6
    ;[1, 2].map((ms) => sleep(ms)) // 7
    Promise.all([sleep(1)]) // 8
    new EventEmitter().on('x', async () => {}) // 9
    process.once('SIGTERM', work) // 10
    const later: { run: () => void } = { run: async () => {} } // 11
    const soon: { run(): void } = { async run() {} } // 12
    void work()
    await work()
    sleep(1).catch(settled)
    sleep(1).then(settled, settled)
    sleep(1).catch(settled).finally(() => sleep(1))
    new EventEmitter().on('x', () => void work())
    process.once('SIGTERM', settled)
    let kept: Promise<void>
    kept = work()
    export default [later, soon, kept]
  `,
}
const files = Object.keys(virtual)

const api = new API({
  cwd: root,
  fs: {
    readFile: (path) => virtual[path],
    fileExists: (path) => (path in virtual ? true : undefined),
    directoryExists: (path) => (path === `${root}/probe` ? true : undefined),
  },
})
after(() => api.close())
const snapshot = api.updateSnapshot({ openProjects: [files[0]!] })
const project = snapshot.getProject(files[0]!)!

test('the search finds each kind of forgotten promise, and nothing that is looked after', () => {
  const source = project.program.getSourceFile(files[1]!)!
  const marked = source.text.split('\n').flatMap((line, index) => (/\/\/ \d+$/.test(line) ? [index + 1] : []))
  assert.deepEqual(
    lostIn(project, source).map(({ line }) => line),
    marked,
  )
})

test('nothing is started in src/ without anybody waiting for its end', () => {
  const names = project.program
    .getSourceFileNames()
    .filter((name) => /^src\/(?!.*\.(test|cases)\.ts$)/.test(relative(root, name)))
  assert.ok(names.length > 300)
  const lost = names.flatMap((name) =>
    lostIn(project, project.program.getSourceFile(name)!).map(
      ({ line, text }) => `${relative(root, name)}:${line}: ${text}`,
    ),
  )
  assert.deepEqual(lost, [], 'await it, give it a catch, or write void before it and say why')
})

type Lost = { readonly line: number; readonly text: string }

function lostIn({ checker }: Project, source: SourceFile): readonly Lost[] {
  const { statements, callbacks } = suspectsIn(source)
  const isThenable = (type: Type): boolean => checker.getPropertyOfType(type, 'then') !== undefined
  const isPromise = (type: Type | undefined): boolean =>
    partsOf(type).some((part) =>
      checker.isArrayType(part)
        ? checker
            .getTypeArguments(part as TypeReference)
            .flatMap(partsOf)
            .some(isThenable)
        : isThenable(part),
    )
  const answers = (type: Type | undefined): readonly (Type | undefined)[] =>
    partsOf(type)
      .flatMap((part) => checker.getSignaturesOfType(part, SignatureKind.Call))
      .map((signature) => checker.getReturnTypeOfSignature(signature))
  const wantedType = (node: Expression): Type | undefined => {
    if (!isMethodDeclaration(node)) return checker.getContextualType(node)
    if (!isObjectLiteralExpression(node.parent)) return undefined
    const whole = checker.getContextualType(node.parent)
    const member = whole && checker.getPropertyOfType(whole, node.name.getText(source))
    return member && checker.getTypeOfSymbol(member)
  }
  const isForNobody = (node: Expression): boolean => {
    const wanted = answers(wantedType(node))
    return wanted.length > 0 && wanted.every((type) => ((type?.flags ?? 0) & TypeFlags.Void) !== 0)
  }

  const types = checker.getTypeAtLocation(statements)
  const given = checker.getTypeAtLocation(callbacks)
  return [
    ...statements.filter((_, index) => isPromise(types[index])),
    ...callbacks.filter((node, index) => answers(given[index]).some(isPromise) && isForNobody(node)),
  ]
    .map((node) => node.getStart(source))
    .sort((a, b) => a - b)
    .map((start) => ({ line: source.text.slice(0, start).split('\n').length, text: lineAt(source.text, start) }))
}

/** Whatever is evaluated and dropped, and whatever is handed to others to be called. */
function suspectsIn(source: SourceFile): { readonly statements: Expression[]; readonly callbacks: Expression[] } {
  const statements: Expression[] = []
  const callbacks: Expression[] = []
  const visit = (node: Node): void => {
    if (isExpressionStatement(node) && !isKept(node.expression)) statements.push(node.expression)
    if (isFunction(node) && !isOfFinally(node.parent)) callbacks.push(node as Expression)
    if ((isCallExpression(node) || isNewExpression(node)) && !isOfFinally(node))
      callbacks.push(...(node.arguments ?? []).filter(isNamed))
    node.forEachChild(visit)
  }
  visit(source)
  return { statements, callbacks }
}

function isFunction(node: Node): boolean {
  return isArrowFunction(node) || isFunctionExpression(node) || isMethodDeclaration(node)
}

/** What is given to `finally` is waited for, whatever its type says. */
function isOfFinally(node: Node): boolean {
  return (
    isCallExpression(node) && isPropertyAccessExpression(node.expression) && node.expression.name.text === 'finally'
  )
}

function isNamed(node: Node): boolean {
  return isIdentifier(node) || isPropertyAccessExpression(node)
}

function partsOf(type: Type | undefined): readonly Type[] {
  if (type === undefined || type.flags & (TypeFlags.Any | TypeFlags.Never)) return []
  return type.isUnionType() ? (type.getTypes() ?? []) : [type]
}

/** Assigned for later, or told what to do when it fails. */
function isKept(expression: Expression): boolean {
  if (isBinaryExpression(expression)) return /^([|&?]{2})?=$/.test(expression.operatorToken.getText())
  if (!isCallExpression(expression) || !isPropertyAccessExpression(expression.expression)) return false
  const { name, expression: of } = expression.expression
  if (name.text === 'catch') return true
  if (name.text === 'then') return expression.arguments.length === 2
  return name.text === 'finally' && isKept(of)
}

function lineAt(text: string, start: number): string {
  return text.slice(start, text.indexOf('\n', start))
}
