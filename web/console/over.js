// What lies over the page: one dialog at a time, and short messages. Only their state; frame.js draws them.
import { signal } from '@preact/signals'

/** @type {import('@preact/signals').Signal<{ id: number, text: string, icon: string }[]>} */
export const toasts = signal([])
let count = 0

/** For what needs no answer. An error that has to be read stands where it happened, not here. @param {string} text */
export function toast(text, icon = 'check') {
  const one = { id: count++, text, icon }
  toasts.value = [...toasts.value.slice(-2), one]
  setTimeout(() => {
    toasts.value = toasts.value.filter(({ id }) => id !== one.id)
  }, 4_000)
}

/** The component of the open dialog and what it is about; null when none is open. @type {import('@preact/signals').Signal<any>} */
export const opened = signal(null)

export function openDialog(component, props = {}) {
  opened.value = { component, props, id: count++ }
}

export function closeDialog() {
  opened.value = null
}
