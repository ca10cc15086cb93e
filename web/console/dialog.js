// Dialogs: the browser's own, which keeps the focus and closes with Escape.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { closeDialog } from './over.js'
import { html } from './parts.js'
import { deedKey } from './shop.js'

/** @param {any} props */
export function Dialog({ title, lead, label, class: look = '', onClose = closeDialog, isKept = false, children }) {
  const box = useRef(null)
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = box.current
    dialog.showModal()
    dialog.querySelector('[data-focus]')?.focus()
    return () => {
      // While it is open, nothing behind it can have the focus.
      dialog.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return html`<dialog ref=${box} class=${look} aria-label=${label ?? title} onCancel=${(event) => {
    event.preventDefault()
    if (!isKept) onClose()
  }} onClick=${(event) => {
    if (event.target === box.current && !isKept) onClose()
  }}>${title ? html`<div class="inner"><div class="titled"><div><h2>${title}</h2>${lead ? html`<p class="lead">${lead}</p>` : null}</div>${isKept ? null : html`<button type="button" class="quiet icon" data-icon="x" aria-label="Close" onClick=${onClose}></button>`}</div>${children}</div>` : children}</dialog>`
}

/** What a form is doing: `run` calls the deed once, however often it is pressed, and keeps the fault to be read where it happened. */
export function useDeed() {
  const [fault, setFault] = useState(null)
  const [isBusy, setBusy] = useState(false)
  const key = useRef(null)
  key.current ??= deedKey()
  const running = useRef(false)
  const run = async (deed) => {
    if (running.current) return
    running.current = true
    setBusy(true)
    setFault(null)
    try {
      await deed(key.current)
    } catch (error) {
      setFault(error)
      // What was refused may be said differently, and that is another deed. What got lost must keep its name.
      if (error.status >= 400 && error.status < 500) key.current = deedKey()
    } finally {
      running.current = false
      setBusy(false)
    }
  }
  return { run, fault, isBusy }
}

/** What the shop said no to, inside a form. */
export const Refusal = ({ fault }) =>
  fault
    ? html`<div class="notice bad" data-icon="bad" role="alert"><div>${fault.message}${fault.errors?.length > 1 ? html`<ul>${fault.errors.map(({ pointer, detail }) => html`<li><code>${pointer}</code> ${detail}</li>`)}</ul>` : null}</div></div>`
    : null

/**
 * A deed that somebody confirms. It shows what follows, and the button repeats it; `deed(reason, key)` does it.
 * @param {any} props
 */
export function Confirm({
  title,
  lead,
  children,
  reason,
  button,
  look = 'danger',
  leave = 'Leave it',
  no = null,
  deed,
  done,
}) {
  const { run, fault, isBusy } = useDeed()
  const [text, setText] = useState('')
  const submit = (event) => {
    event.preventDefault()
    if (no) return
    run(async (key) => {
      const result = await deed(text.trim(), key)
      closeDialog()
      done?.(result)
    })
  }
  return html`<${Dialog} label=${title}><form onSubmit=${submit}>
    <div><h2>${title}</h2>${lead ? html`<p class="lead">${lead}</p>` : null}</div>
    ${children}
    ${reason ? html`<label class="field">${reason.label}<textarea name="reason" required maxlength="300" data-focus value=${text} onInput=${(event) => setText(event.currentTarget.value)}></textarea>${reason.hint ? html`<small>${reason.hint}</small>` : null}</label>` : null}
    <${Refusal} fault=${fault} />
    ${no ? html`<div class="notice warn" data-icon="warn"><div>${no}</div></div>` : null}
    <footer><button type="button" onClick=${closeDialog}>${leave}</button><button type="submit" class=${look} disabled=${isBusy || Boolean(no)}>${isBusy ? 'Sending…' : button}</button></footer></form><//>`
}

/** A field with its label, hint and the shop's own words about it. */
export function Field({ label, name, hint, value, onInput, type = 'text', fault, area = false, ...rest }) {
  const wrong = fault?.errors?.find(({ pointer }) => pointer === `/${name}`)?.detail
  const common = {
    name,
    id: `f-${name}`,
    onInput: (event) => onInput(event.currentTarget.value),
    'aria-invalid': wrong ? 'true' : undefined,
    ...rest,
  }
  return html`<div class="field"><label for=${common.id}>${label}</label>${area ? html`<textarea ...${common} value=${value}></textarea>` : html`<input type=${type} value=${value} ...${common} autocomplete="off" />`}${wrong ? html`<small class="wrong">${wrong}</small>` : hint ? html`<small>${hint}</small>` : null}</div>`
}
