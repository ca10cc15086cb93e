// The shelf: items of the game, lots of the sale contract, goods at a fixed price.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Confirm, Dialog, Field, Refusal, useDeed } from '../dialog.js'
import { closeDialog, openDialog, toast } from '../over.js'
import {
  Act,
  Choice,
  copy,
  Empty,
  Facts,
  Head,
  html,
  Id,
  Link,
  later,
  Money,
  Panel,
  Rail,
  Rows,
  Status,
  When,
} from '../parts.js'
import { ask, me, refusalFor, route, tell, withQuery } from '../shop.js'
import { number, plain, sum, timeOf } from '../words.js'

const Qr = later(() => import('../qr.js'), 'Qr')

const TABS = [
  ['', 'Items'],
  ['lots', 'Lots'],
  ['prices', 'Fixed prices'],
]

/** What a table of the shelf is called for a buyer today. */
function stateOf({ hidden, opensAt, closesAt, left }) {
  const now = Date.now()
  if (hidden) return 'hidden'
  if (opensAt && Date.parse(opensAt) > now) return 'upcoming'
  if (closesAt && Date.parse(closesAt) <= now) return 'ended'
  return left === 0 ? 'sold_out' : 'open'
}

/** Only if nobody else has changed it since it was shown. */
const matching = ({ version }) => (version === undefined ? {} : { 'if-match': version })

/** A table that comes as a member of JSON, as a file. */
async function save(path, name) {
  try {
    const { csv } = await ask(path)
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([csv], { type: 'text/csv;charset=utf-8' }))
    link.download = name
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
  } catch (error) {
    toast(error.message, 'warn')
  }
}

/** Where the game is a program of its own, so is its shelf. */
const isShelfHere = () => !me.value?.may || 'GET /operator/items' in me.value.may

export default function Catalog() {
  const tab = route.value.searchParams.get('tab') ?? ''
  const isElsewhere = tab === '' && !isShelfHere()
  const table = {
    '': ['/operator/items.csv', 'items.csv'],
    lots: ['/operator/lots.csv', 'lots.csv'],
    prices: ['/operator/prices.csv', 'prices.csv'],
  }[tab]
  return html`<${Head} title="Catalog">${table && !isElsewhere ? html`<button type="button" data-icon="download" onClick=${() => save(...table)}>CSV</button>` : null}${tab === '' && !isElsewhere ? html`<${Act} role="admin" icon="plus" class="primary" onClick=${() => openDialog(ItemSheet, { item: null })}>New item<//>` : tab === 'lots' ? html`<${Act} role="admin" icon="plus" class="primary" onClick=${() => openDialog(LotSheet, { lot: null })}>New lot<//>` : null}<//>
    <nav class="tabbed" aria-label="Shelves">${TABS.map(([id, words]) => html`<${Link} to=${withQuery({ tab: id || null, state: null })} aria-current=${id === tab ? 'page' : undefined}>${words}<//>`)}</nav>
    ${tab === 'lots' ? html`<${Lots} />` : tab === 'prices' ? html`<${Prices} />` : isElsewhere ? html`<section class="card"><${Empty} icon="tag" title="The game keeps its own items">They are sold here under the names and prices it gives them. Change them there.<//></section>` : html`<${Items} />`}`
}

const isShelf = ({ type, data }) => type === 'operator.acted' && /^(item|lot|price)/.test(data?.deed ?? '')

function Items() {
  const shelf = useData('/operator/items', { when: (event) => isShelf(event) || /confirmed/.test(event.type) })
  const view = route.value.searchParams.get('state') ?? ''
  const all = shelf.data?.items ?? []
  const rows = all.filter((item) => view === '' || (view === 'hidden') === (stateOf(item) !== 'open'))
  const columns = [
    {
      name: 'Item',
      isHead: true,
      cell: (item) =>
        html`<button type="button" class="plain-link" onClick=${() => openDialog(ItemSheet, { item })}>${item.name}</button><small class="block mono soft">${item.id}</small>`,
    },
    { name: 'State', cell: (item) => html`<${Status} of=${stateOf(item)} />` },
    {
      name: 'Price',
      isNumber: true,
      className: 'lead',
      cell: ({ price }) => html`<${Money} amount=${price} currency="USD" />`,
    },
    {
      name: 'Left',
      isNumber: true,
      phone: 'left',
      cell: ({ left, supply }) =>
        left === null
          ? html`<span class="soft">no end</span>`
          : html`<b>${number(left)}</b> <small class="soft">of ${number(supply)}</small>`,
    },
    {
      name: 'Delivered',
      isNumber: true,
      phone: 'delivered',
      cell: ({ delivered, promised, id }) =>
        html`<${Link} to="/operator/orders?item=${encodeURIComponent(id)}">${number(delivered)}<//>${promised ? html` <small class="soft">+${number(promised)} promised</small>` : null}`,
    },
    {
      name: 'Each player',
      isNumber: true,
      phone: 'each',
      cell: ({ limitPerPlayer }) => limitPerPlayer ?? html`<span class="soft">no limit</span>`,
    },
    { name: 'Level', isNumber: true, phone: 'level', cell: ({ levelMin }) => levelMin },
    {
      name: '',
      className: 'n',
      cell: (item) =>
        html`<${Act} role="admin" icon=${item.hidden ? 'eye' : 'ban'} class="quiet" onClick=${() => openDialog(Hide, { item, done: shelf.again })}>${item.hidden ? 'Show' : 'Hide'}<//>`,
    },
  ]
  return html`<${Choice} label="State" value=${view} options=${[['', 'All', all.length || null], ['open', 'On sale'], ['hidden', 'Not on sale']]} to=${(id) => withQuery({ state: id || null })} />
    <${Panel} of=${shelf} label="Items" flush=${true} height=${360} empty=${({ items }) => (items.length === 0 ? html`<${Empty} icon="tag" title="Nothing is on the shelf" acts=${html`<${Act} role="admin" class="primary" icon="plus" onClick=${() => openDialog(ItemSheet, { item: null })}>Put the first item there<//>`}>An item is something the game hands to a player: a name, a price, and how many there are.<//>` : null)}>${() => html`<${Rows} rows=${rows} columns=${columns} label="Items" keyOf=${({ id }) => id} act=${(item) => openDialog(ItemSheet, { item })} />`}<//>`
}

/** The same word everywhere for something that leaves or comes back to the shelf. */
function Hide({ item, done }) {
  const verb = item.hidden ? 'Show' : 'Hide'
  return html`<${Confirm} title="${verb} ${item.name}" look="primary" button="${verb} it" lead=${item.hidden ? 'It is offered again at once, at the price below.' : 'Nobody can buy it from now on. Offers that were made stay good until they end, and what is paid for is delivered.'}
    deed=${() => tell('POST', `/operator/items/${encodeURIComponent(item.id)}`, { hidden: !item.hidden })} done=${() => {
      toast(item.hidden ? 'It is on the shelf again' : 'It is off the shelf')
      done()
    }}><${Facts} rows=${[['Item', html`${item.name} <code>${item.id}</code>`], ['Price', html`<${Money} amount=${item.price} currency="USD" />`]]} /><//>`
}

const MEMBERS = [
  'name',
  'description',
  'picture',
  'price',
  'supply',
  'limitPerPlayer',
  'levelMin',
  'opensAt',
  'closesAt',
]
const localTime = (iso) =>
  iso ? new Date(new Date(iso).getTime() - new Date(iso).getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : ''
const isTime = (name) => name === 'opensAt' || name === 'closesAt'

/** As the route takes it: what is empty is null, numbers are numbers. */
function fieldValue(name, text) {
  const value = text.trim()
  if (name === 'name' || name === 'description' || name === 'price') return value
  if (value === '') return name === 'levelMin' ? 1 : null
  if (isTime(name)) return new Date(value).toISOString()
  return name === 'picture' ? value : Number(value)
}

/** What is otherwise than it was. */
function changesOf(before, fields, names) {
  const changes = {}
  for (const name of names) {
    const value = fieldValue(name, fields[name])
    const was = before?.[name] ?? null
    const isSame =
      isTime(name) && value && was
        ? Date.parse(value) === Math.floor(Date.parse(was) / 60_000) * 60_000
        : String(value ?? '') === String(was ?? '')
    if (!isSame) changes[name] = value
  }
  return changes
}

function ItemSheet({ item }) {
  const { run, fault, isBusy } = useDeed()
  const start = Object.fromEntries(
    MEMBERS.map((name) => [name, isTime(name) ? localTime(item?.[name]) : String(item?.[name] ?? '')]),
  )
  const [id, setId] = useState(item?.id ?? '')
  const [fields, setFields] = useState(start)
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }))
  const field = (name) => ({ name, value: fields[name], onInput: set(name), fault })
  const changes = changesOf(item, fields, MEMBERS)
  const names = Object.keys(changes)
  const no = refusalFor('admin')
  const submit = (event) => {
    event.preventDefault()
    run(async () => {
      await (item
        ? tell('POST', `/operator/items/${encodeURIComponent(item.id)}`, changes, matching(item))
        : tell('POST', '/operator/items', {
            id: id.trim(),
            ...Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null)),
          }))
      closeDialog()
      toast(item ? 'The item is changed' : 'The item is on the shelf')
    })
  }
  return html`<${Dialog} class="side-sheet" title=${item ? item.name : 'New item'} lead=${item ? html`<code>${item.id}</code>` : 'What the game hands over, and what it costs.'}><form class="bare" onSubmit=${submit}>
    ${item ? null : html`<${Field} label="Id" name="id" value=${id} onInput=${setId} fault=${fault} required placeholder="keys:5" hint="The game’s own name for it. It cannot be changed later." />`}
    <${Field} label="Name" ...${field('name')} required maxlength="100" />
    <${Field} label="Description" area=${true} ...${field('description')} />
    <div class="row2"><${Field} label="Price in USD" ...${field('price')} required inputmode="decimal" placeholder="1.50" /><${Field} label="How many there are" ...${field('supply')} inputmode="numeric" hint="All of them, delivered ones too. Empty: no end." /></div>
    <div class="row2"><${Field} label="Each player may have" ...${field('limitPerPlayer')} inputmode="numeric" hint="Empty: no limit." /><${Field} label="From level" ...${field('levelMin')} inputmode="numeric" /></div>
    <div class="row2"><${Field} label="On sale from" type="datetime-local" ...${field('opensAt')} /><${Field} label="Until" type="datetime-local" ...${field('closesAt')} /></div>
    <${Field} label="Picture" ...${field('picture')} placeholder="https://…" />
    <div class="preview" aria-label="What an agent is told"><small class="soft">What an agent is told</small><p><b>${fields.name || 'Name'}</b> <span class="end"><${Money} amount=${/^\d+(\.\d+)?$/.test(fields.price) ? fields.price : '0'} currency="USD" /></span></p><p class="soft">${fields.description || 'No description.'}</p></div>
    ${item && changes.price !== undefined ? html`<div class="notice warn" data-icon="warn"><div>Offers that were made at ${sum(item.price)} stay good until they end; whoever is asked from now on pays ${fields.price || '…'}.</div></div>` : null}
    ${item && names.length > 0 ? html`<${Facts} rows=${names.map((name) => [plain(name), html`<s class="soft">${shown(item[name], name)}</s> → <b>${shown(changes[name], name)}</b>`])} />` : null}
    <${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy || Boolean(no) || (item && names.length === 0)} title=${no}>${item ? (names.length === 0 ? 'Nothing changed' : `Save ${names.length === 1 ? 'the change' : `${names.length} changes`}`) : 'Put it on the shelf'}</button></footer></form><//>`
}

const shown = (value, name) =>
  value === null || value === undefined || value === '' ? 'none' : isTime(name) ? timeOf(value) : String(value)

function Lots() {
  const lots = useData('/operator/lots', { when: isShelf })
  const columns = [
    {
      name: 'Lot',
      isHead: true,
      cell: (lot) =>
        html`<button type="button" class="plain-link" onClick=${() => openDialog(LotSheet, { lot })}>${lot.note.name ?? lot.name}</button><small class="block mono soft">${lot.saleId}</small>`,
    },
    { name: 'State', cell: ({ state }) => html`<${Status} of=${state} />` },
    {
      name: 'Price',
      isNumber: true,
      className: 'lead',
      cell: ({ price }) => html`<${Money} amount=${price} currency="USD" />`,
    },
    {
      name: 'Minted',
      isNumber: true,
      phone: 'minted',
      cell: ({ minted, saleId }) => html`<${Link} to="/operator/orders?item=${saleId}">${number(minted)}<//>`,
    },
    {
      name: 'Left',
      isNumber: true,
      phone: 'left',
      cell: ({ left, supply }) => html`<b>${number(left)}</b> <small class="soft">of ${number(supply)}</small>`,
    },
    {
      name: 'Opens',
      className: 'off-phone',
      cell: ({ opensAt }) => (opensAt ? html`<${When} at=${opensAt} />` : html`<span class="soft">open</span>`),
    },
    {
      name: 'Closes',
      className: 'off-phone',
      cell: ({ closesAt }) => (closesAt ? html`<${When} at=${closesAt} />` : html`<span class="soft">no end</span>`),
    },
    {
      name: '',
      className: 'n',
      cell: (lot) =>
        html`<${Act} role="admin" icon=${lot.note.hidden ? 'eye' : 'ban'} class="quiet" onClick=${() => openDialog(HideLot, { lot, done: lots.again })}>${lot.note.hidden ? 'Show' : 'Hide'}<//>`,
    },
  ]
  return html`<${Panel} of=${lots} label="Lots" flush=${true} height=${320} empty=${(data) => (data.lots.length === 0 ? html`<${Empty} icon="tag" title="The sale contract has no lots">Make one: the console writes the transaction, your cold wallet signs it.<//>` : null)}>${(
    data,
  ) => html`<${Rows} rows=${data.lots} columns=${columns} label="Lots of the sale contract" keyOf=${({ saleId }) => saleId} act=${(lot) => openDialog(LotSheet, { lot })} />
    <div class="foot"><span>Contract <${Id} of=${data.contract} /></span><span>chain ${data.chainId}</span><span>Price, supply and time lie on the chain; hiding and describing is the shop’s.</span></div>`}<//>`
}

function HideLot({ lot, done }) {
  const { hidden } = lot.note
  return html`<${Confirm} title="${hidden ? 'Show' : 'Hide'} ${lot.note.name ?? lot.name}" look="primary" button="${hidden ? 'Show' : 'Hide'} it" lead=${hidden ? 'The shop offers it again.' : 'The shop no longer offers it. On the chain nothing changes.'}
    deed=${() => tell('POST', `/operator/lots/${lot.saleId}`, { hidden: !hidden })} done=${() => {
      toast(hidden ? 'It is offered again' : 'It is hidden')
      done()
    }} />`
}

const TERMS = ['name', 'price', 'supply', 'uri', 'opensAt', 'closesAt']

/** What the chain decides is not changed here: the transaction is written for whoever holds the key. */
function LotSheet({ lot }) {
  const { run, fault, isBusy } = useDeed()
  const [saleId, setSaleId] = useState(String(lot?.saleId ?? ''))
  const [fields, setFields] = useState(
    Object.fromEntries(TERMS.map((name) => [name, isTime(name) ? localTime(lot?.[name]) : String(lot?.[name] ?? '')])),
  )
  const [ready, setReady] = useState(null)
  const field = (name) => ({
    name,
    value: fields[name],
    onInput: (value) => setFields((old) => ({ ...old, [name]: value })),
    fault,
  })
  const changes = changesOf(lot, fields, TERMS)
  if (changes.uri === null) delete changes.uri
  if (changes.supply !== undefined && changes.supply !== null) changes.supply = Number(changes.supply)
  if (changes.name === null) delete changes.name
  const no = refusalFor('admin')
  if (ready) return html`<${Calldata} ready=${ready} />`
  return html`<${Dialog} class="side-sheet" title=${lot ? lot.name : 'New lot'} lead="The lot manager signs this on the chain. Here it is only written."><form class="bare" onSubmit=${(
    event,
  ) => {
    event.preventDefault()
    run(async () => setReady(await tell('POST', `/operator/lots/${saleId.trim()}/transaction`, changes)))
  }}>
    ${lot ? null : html`<${Field} label="Sale id" name="saleId" value=${saleId} onInput=${setSaleId} required inputmode="numeric" placeholder="400" />`}
    <${Field} label="Name" ...${field('name')} required />
    <div class="row2"><${Field} label="Price in USD" ...${field('price')} required inputmode="decimal" /><${Field} label="Supply" ...${field('supply')} required inputmode="numeric" hint=${lot ? `At least ${number(lot.minted)}, which are minted.` : ''} /></div>
    <div class="row2"><${Field} label="Opens" type="datetime-local" ...${field('opensAt')} /><${Field} label="Closes" type="datetime-local" ...${field('closesAt')} /></div>
    <${Field} label="Metadata" area=${true} ...${field('uri')} hint="https://, ipfs://, ar:// or data:" />
    <${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy || Boolean(no) || Object.keys(changes).length === 0} title=${no}>Write the transaction</button></footer></form><//>`
}

function Calldata({ ready }) {
  const { chainId, to, data, value, before, after } = ready
  const text = JSON.stringify({ chainId, to, value, data })
  return html`<${Dialog} class="side-sheet" title="For the cold wallet" lead="Nothing has changed yet. It does when this is signed and sent; the list then shows it by itself.">
    <${Facts} rows=${Object.keys(after)
      .filter((name) => String(before?.[name] ?? '') !== String(after[name] ?? ''))
      .map((name) => [
        plain(name),
        html`${before ? html`<s class="soft">${shown(before[name], name)}</s> → ` : null}<b>${shown(after[name], name)}</b>`,
      ])} />
    <${Facts} rows=${[['Chain', chainId], ['To', html`<${Id} of=${to} whole=${true} />`], ['Value', value]]} />
    <div><div class="titled"><h3>Data</h3><button type="button" data-icon="copy" onClick=${() => copy(data, 'The data is copied')}>Copy</button></div><pre tabindex="0" aria-label="Data of the transaction">${data}</pre></div>
    ${text.length < 1_400 ? html`<${Qr} text=${text} label="The transaction as a QR code" />` : html`<p class="soft">Too long for a QR code; copy it.</p>`}
    <footer><button type="button" data-icon="copy" onClick=${() => copy(text, 'The transaction is copied')}>Copy all as JSON</button><button type="button" class="primary" onClick=${closeDialog}>Done</button></footer><//>`
}

function Prices() {
  const prices = useData('/operator/prices', { when: isShelf })
  const columns = [
    {
      name: 'Good',
      isHead: true,
      cell: ({ good, surface }) => html`${plain(good)}<small class="block soft">${surface}</small>`,
    },
    {
      name: 'Sold by',
      cell: ({ protocols }) =>
        html`<span class="acts">${protocols.map((name) => html`<${Rail} name=${name} />`)}</span>`,
    },
    {
      name: 'Price',
      isNumber: true,
      className: 'lead',
      cell: ({ price }) => html`<${Money} amount=${price} currency="USD" />`,
    },
    { name: 'Usual', isNumber: true, phone: 'usual', cell: ({ usual }) => html`<span class="soft">${usual}</span>` },
    {
      name: '',
      className: 'n',
      cell: (good) =>
        html`<${Act} role="admin" class="quiet" onClick=${() => openDialog(PriceForm, { good, done: prices.again })}>Change…<//>`,
    },
  ]
  return html`<${Panel} of=${prices} label="Goods at a fixed price" flush=${true} height=${260}>${(data) => html`<${Rows} rows=${data.prices} columns=${columns} label="Goods at a fixed price" keyOf=${({ good }) => good} act=${(good) => openDialog(PriceForm, { good, done: prices.again })} />`}<//>`
}

function PriceForm({ good, done }) {
  const { run, fault, isBusy } = useDeed()
  const [price, setPrice] = useState(good.price)
  const send = (value) =>
    run(async () => {
      await tell('POST', `/operator/prices/${good.good}`, { price: value }, matching(good))
      closeDialog()
      toast('The price is changed')
      done()
    })
  return html`<${Dialog} title="Price of ${plain(good.good)}" lead="Whoever is asked from now on pays it; offers that were made stay as they are."><form class="bare" onSubmit=${(
    event,
  ) => {
    event.preventDefault()
    send(price.trim())
  }}><${Field} label="Price in USD" name="price" value=${price} onInput=${setPrice} fault=${fault} required inputmode="decimal" data-focus /><${Refusal} fault=${fault} />
    <footer>${good.price === good.usual ? null : html`<button type="button" onClick=${() => send(null)}>Back to ${good.usual}</button>`}<button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy || price.trim() === good.price}>Charge ${price} USD</button></footer></form><//>`
}
