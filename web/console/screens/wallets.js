// The shop's own wallets: what they have, how long that lasts, and what they may do.
import { useData } from '../data.js'
import { Dialog } from '../dialog.js'
import { openDialog } from '../over.js'
import { Badge, copy, Empty, Facts, Head, html, Id, later, Money, Panel, Status, When } from '../parts.js'
import { plain } from '../words.js'

const Qr = later(() => import('../qr.js'), 'Qr')

const WHAT = {
  minter: 'mints NFTs of the sale',
  crafter: 'burns and crafts',
  settler: 'sends buyers’ payments to the chain',
  treasury: 'sends money back',
}

export default function Wallets() {
  const wallets = useData('/operator/wallets', { every: 30_000, when: ({ type }) => /^wallet/.test(type) })
  return html`<${Head} title="Wallets" sub="As they were last seen." />
    <${Panel} of=${wallets} label="Wallets" class="plain" height=${320} empty=${({ wallets }) => (wallets.length === 0 ? html`<div class="card"><${Empty} icon="wallet" title="No wallet was seen yet">They are looked at within a minute of the start.<//></div>` : null)}>${({ wallets }) => html`<div class="wallets">${[...Map.groupBy(wallets, ({ role, address, chainId }) => `${role} ${address} ${chainId}`).values()].map((all) => html`<${Wallet} all=${all} />`)}</div>`}<//>`
}

function Wallet({ all }) {
  const [{ role, address, chainId, roles, asOf }] = all
  return html`<section class="card" aria-label="${plain(role)} on chain ${chainId}"><header><h2>${plain(role)}</h2><small class="soft">chain ${chainId}</small></header>
    <p class="soft small">${WHAT[role] ?? ''}</p>
    <p class="acts"><${Id} of=${address} /><button type="button" class="quiet" data-icon="qr" onClick=${() => openDialog(Fund, { all })}>Fund…</button></p>
    <ul class="rows">${all.map(({ what, balance, currency, isLow }) => html`<li><span class="grow"><${Money} amount=${balance} currency=${currency} /><small class="block soft">${what === 'gas' ? 'for gas' : 'for refunds'}</small></span><span class="end"><${Status} of=${isLow ? 'warn' : 'ok'} words=${isLow ? 'low' : 'enough'} /></span></li>`)}</ul>
    ${roles?.length > 0 ? html`<p class="acts">${roles.map((right) => html`<${Badge} tone=${(right.has ?? right.isHeld) === false ? 'bad' : 'ok'} icon=${(right.has ?? right.isHeld) === false ? 'bad' : 'check'}>${right.name ?? right.role}${(right.has ?? right.isHeld) === false ? ' is missing' : ''}<//>`)}</p>` : null}
    <small class="asof">as of <${When} at=${asOf} /></small></section>`
}

function Fund({ all }) {
  const [{ role, address, chainId }] = all
  return html`<${Dialog} title="Fund the ${role}" lead="Send ${all.map(({ currency }) => currency).join(' or ')} on chain ${chainId} to this address. It is noticed by itself.">
    <${Qr} text=${address} label="The address as a QR code" /><pre tabindex="0" aria-label="Address">${address}</pre>
    <${Facts} rows=${all.map(({ what, balance, currency, isLow }) => [what === 'gas' ? 'Gas' : 'Money', html`<${Money} amount=${balance} currency=${currency} />${isLow ? html` <${Badge} tone="warn" icon="warn">low<//>` : null}`])} />
    <footer><button type="button" class="primary" data-icon="copy" onClick=${() => copy(address, 'The address is copied')}>Copy the address</button></footer><//>`
}
