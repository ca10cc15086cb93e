import { NodeFS } from '@electric-sql/pglite/nodefs'

// Loaded with --import, also into the worker: a PGlite that no longer calls the fsync operation that we add to its files.

const { init } = NodeFS.prototype
NodeFS.prototype.init = async function (engine, options) {
  const { emscriptenOpts } = await init.call(this, engine, options)
  const loseHook = (module: unknown) => {
    const { stream_ops } = (module as { NODEFS: { stream_ops: object } }).NODEFS
    Object.defineProperty(stream_ops, 'fsync', { get: () => undefined, set: () => {} })
  }
  return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), loseHook] } }
}
