// Data of a panel: asked for once, kept while it is asked for again, told apart by how old it is.
import { useEffect, useRef, useState } from 'preact/hooks'
import { heard } from './live.js'
import { ask, Fault } from './shop.js'

const KEPT_MAX = 60
/** What was answered last, by address: going back shows it at once. @type {Map<string, { data: any, at: number }>} */
const kept = new Map()

function keep(path, data) {
  kept.delete(path)
  kept.set(path, { data, at: Date.now() })
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value)
}

/** Somebody else may sit down here. */
export function forgetAll() {
  kept.clear()
}

/**
 * @param {string | null} path null: nothing to ask for yet
 * @param {{ every?: number, when?: (event: any) => boolean }} [how] asked again after so many milliseconds, and after such events
 * @returns {{ data: any, fault: Fault | null, at: number, isLoading: boolean, again: () => void }}
 */
export function useData(path, { every = 0, when } = {}) {
  const [state, setState] = useState({ path, ...fresh(path) })
  const [turn, setTurn] = useState(0)
  const byItself = useRef(false)
  const again = () => setTurn((turn) => turn + 1)
  const refresh = () => {
    byItself.current = true
    again()
  }
  const wanted = useRef(when)
  wanted.current = when
  const shown = state.path === path ? state : { path, ...fresh(path) }

  useEffect(() => {
    if (path === null) return
    const stop = new AbortController()
    setState((old) => (old.path === path ? { ...old, isLoading: true } : { path, ...fresh(path) }))
    // What the page asks by itself keeps nobody signed in.
    const isOwn = byItself.current
    byItself.current = false
    ask(path, stop.signal, isOwn).then(
      (data) => {
        keep(path, data)
        setState({ path, data, fault: null, at: Date.now(), isLoading: false })
      },
      (error) => {
        if (stop.signal.aborted) return
        const fault =
          error instanceof Fault ? error : new Fault({ status: 0, code: 'unexpected', detail: String(error) })
        setState((old) => ({ ...(old.path === path ? old : fresh(path)), path, fault, isLoading: false }))
      },
    )
    return () => stop.abort()
  }, [path, turn])

  useEffect(() => {
    if (!every) return
    const timer = setInterval(() => {
      if (!document.hidden) refresh()
    }, every)
    return () => clearInterval(timer)
  }, [every])

  useEffect(() => {
    let timer
    const stop = heard((event) => {
      if (!wanted.current?.(event)) return
      // Many come at once; one look is enough.
      clearTimeout(timer)
      timer = setTimeout(refresh, 250)
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [])

  return { ...shown, again }
}

function fresh(path) {
  const old = path === null ? undefined : kept.get(path)
  return { data: old?.data ?? null, fault: null, at: old?.at ?? 0, isLoading: path !== null }
}
