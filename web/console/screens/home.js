import { useData } from '../data.js'
import { Head, html, Panel } from '../parts.js'

export default function Home() {
  const attention = useData('/operator/attention', { when: () => true })
  return html`<${Head} title="Needs you" /><${Panel} of=${attention} label="Needs you">${() => null}<//>`
}
