// Players of the embedded game: wallets, level, what they bought and have.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Confirm, Dialog, Field, Refusal, useDeed } from '../dialog.js'
import { closeDialog, openDialog, toast } from '../over.js'
import { Act, Csv, Empty, Facts, Failed, Head, html, Id, Link, Money, Panel, Rows, Status, When } from '../parts.js'
import { go, route, tell, withQuery } from '../shop.js'
import { number, plain } from '../words.js'

export default function Players({ id }) {
  return id ? html`<${Player} id=${id} />` : html`<${List} />`
}

function List() {
  const params = route.value.searchParams
  const q = params.get('q') ?? ''
  const query = new URLSearchParams({
    ...(q ? { q } : {}),
    ...(params.get('cursor') ? { cursor: params.get('cursor') } : {}),
  })
  const players = useData(`/operator/players${query.size > 0 ? `?${query}` : ''}`)
  const [text, setText] = useState(q)
  const columns = [
    {
      name: 'Player',
      isHead: true,
      cell: ({ nickname, playerId }) =>
        html`<${Link} to="/operator/players/${playerId}">${nickname}<//><small class="block mono soft">${playerId}</small>`,
    },
    { name: 'Level', isNumber: true, className: 'lead', phone: 'level', cell: ({ level }) => level },
    {
      name: 'Wallets',
      className: 'wrap',
      cell: ({ wallets }) =>
        wallets.length === 0
          ? html`<span class="soft">none</span>`
          : html`<span class="acts">${wallets.slice(0, 3).map((wallet) => html`<${Id} of=${wallet} to="/operator/orders?payer=${wallet}" />`)}${wallets.length > 3 ? html`<small class="soft">+${wallets.length - 3}</small>` : null}</span>`,
    },
    {
      name: '',
      className: 'n off-phone',
      cell: ({ nickname }) => html`<${Link} to="/operator/orders?player=${encodeURIComponent(nickname)}">Orders<//>`,
    },
  ]
  if (!players.data && players.fault?.status === 404)
    return html`<${Head} title="Players" /><section class="card"><${Empty} icon="person" title="The game keeps its own players">${players.fault.message}<//></section>`
  return html`<${Head} title="Players"><${Csv} href="/operator/players?${new URLSearchParams({ ...(q ? { q } : {}), format: 'csv' })}" name="players.csv" /><${Act} role="admin" class="primary" icon="plus" onClick=${() => openDialog(LinkWallet, { done: players.again })}>Link a wallet…<//><//>
    <form class="search-line" role="search" onSubmit=${(event) => {
      event.preventDefault()
      go(withQuery({ q: text.trim() || null, cursor: null }))
    }}><label class="sr" for="players-q">Find a player</label><input id="players-q" name="q" type="search" placeholder="Nickname, wallet or id" value=${text} onInput=${(event) => setText(event.currentTarget.value)} /><button type="submit" data-icon="search">Find</button></form>
    <${Panel} of=${players} label="Players" flush=${true} height=${320} empty=${(data) => (data.players.length === 0 ? html`<${Empty} icon="person" title=${q ? 'No player is called so' : 'No players yet'}>${q ? 'Nicknames are found by how they begin; wallets and ids by the whole of them.' : 'Link a wallet to a nickname, and somebody can be sold to.'}<//>` : null)}>${(
      data,
    ) => html`<${Rows} rows=${data.players} columns=${columns} label="Players" keyOf=${({ playerId }) => playerId} to=${({ playerId }) => `/operator/players/${playerId}`} />
      <div class="foot"><span>${number(data.players.length)} shown</span><span class="acts">${params.get('cursor') ? html`<${Link} class="button" to=${withQuery({ cursor: null })}>First<//>` : null}${data.next ? html`<${Link} class="button" to=${withQuery({ cursor: data.next })}>More<//>` : null}</span></div>`}<//>`
}

function LinkWallet({ nickname = '', done }) {
  const { run, fault, isBusy } = useDeed()
  const [name, setName] = useState(nickname)
  const [address, setAddress] = useState('')
  return html`<${Dialog} title="Link a wallet" lead="Whoever had this wallet before loses it to this player."><form class="bare" onSubmit=${(
    event,
  ) => {
    event.preventDefault()
    run(async () => {
      await tell('POST', '/operator/players', { nickname: name.trim(), address: address.trim() })
      closeDialog()
      toast('The wallet is linked')
      done()
    })
  }}><${Field} label="Nickname" name="nickname" value=${name} onInput=${setName} fault=${fault} required hint="A new one makes a new player." /><${Field} label="Wallet" name="address" value=${address} onInput=${setAddress} fault=${fault} required placeholder="0x…" spellcheck=${false} /><${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy}>Link it</button></footer></form><//>`
}

function Player({ id }) {
  const found = useData(`/operator/players/${encodeURIComponent(id)}`, {
    when: ({ type }) => /confirmed|operator/.test(type),
  })
  const crumbs = html`<${Link} to="/operator/players">Players<//><span aria-hidden="true">/</span><${Id} of=${id} />`
  const { data } = found
  if (!data)
    return html`<${Head} title="Player" crumbs=${crumbs} />${found.fault ? html`<${Failed} fault=${found.fault} again=${found.again} />` : html`<div class="skeleton" aria-hidden="true"></div>`}`
  const { inventory, discounts, purchases: orders, ...player } = data
  return html`<${Head} title=${player.nickname} crumbs=${crumbs}><${Act} role="admin" icon="tag" onClick=${() => openDialog(Discount, { nickname: player.nickname, done: found.again })}>Discount…<//><${Act} role="admin" icon="wallet" onClick=${() => openDialog(LinkWallet, { nickname: player.nickname, done: found.again })}>Link a wallet…<//><//>
    <div class="half"><div class="stack"><section class="card" aria-label="Player"><header><h2>Player</h2></header><${Facts} rows=${[['Level', player.level], ['Id', html`<${Id} of=${player.playerId} />`]]} />
      <h3>Wallets</h3>${player.wallets.length === 0 ? html`<p class="soft">None.</p>` : html`<ul class="rows">${player.wallets.map((wallet) => html`<li><${Id} of=${wallet} to="/operator/orders?payer=${wallet}" whole=${true} /><span class="end"><${Act} role="admin" class="quiet" onClick=${() => openDialog(Unlink, { player, wallet, done: found.again })}>Unlink…<//></span></li>`)}</ul>`}</section>
      <section class="card" aria-label="Inventory"><header><h2>Inventory</h2></header>${inventory.length === 0 ? html`<p class="soft">Nothing was delivered to this player.</p>` : html`<ul class="rows">${inventory.map(({ itemId, name, quantity }) => html`<li><span class="grow">${name ?? itemId}</span><b class="end">${number(quantity ?? 1)}</b></li>`)}</ul>`}</section>
      ${discounts.length > 0 ? html`<section class="card" aria-label="Discounts"><header><h2>Discounts</h2></header><ul class="rows">${discounts.map(({ itemId, percent }) => html`<li><code>${itemId}</code><b class="end">${percent} %</b></li>`)}</ul></section>` : null}</div>
    <section class="card" aria-label="Purchases"><header><h2>Purchases</h2><${Link} class="small" to="/operator/orders?player=${encodeURIComponent(player.nickname)}">All<//></header>${orders.length === 0 ? html`<p class="soft">None yet.</p>` : html`<ul class="rows">${orders.map((order) => html`<li><span class="grow"><${Link} to="/operator/orders/${order.orderId}">${order.title ?? plain(order.good ?? 'order')}<//><small class="block soft"><${When} at=${order.createdAt} /></small></span><${Status} of=${order.status} /><span class="end"><${Money} amount=${order.amount} currency=${order.currency} /></span></li>`)}</ul>`}</section></div>`
}

function Unlink({ player, wallet, done }) {
  return html`<${Confirm} title="Unlink this wallet" button="Unlink it" lead="Nothing is taken from the player; the wallet no longer buys for them." deed=${() => tell('DELETE', `/operator/players/${player.playerId}/wallets/${wallet}`)} done=${() => {
    toast('The wallet is unlinked')
    done()
  }}><${Facts} rows=${[['Player', player.nickname], ['Wallet', html`<code>${wallet}</code>`]]} /><//>`
}

function Discount({ nickname, done }) {
  const { run, fault, isBusy } = useDeed()
  const [itemId, setItem] = useState('')
  const [percent, setPercent] = useState('')
  return html`<${Dialog} title="Discount for ${nickname}" lead="On one item, from the next price they are asked. 0 takes it back."><form class="bare" onSubmit=${(
    event,
  ) => {
    event.preventDefault()
    run(async () => {
      await tell('POST', '/operator/discounts', { itemId: itemId.trim(), nickname, percent: Number(percent) })
      closeDialog()
      toast('The discount is set')
      done()
    })
  }}><div class="row2"><${Field} label="Item" name="itemId" value=${itemId} onInput=${setItem} fault=${fault} required placeholder="keys:5" /><${Field} label="Per cent" name="percent" value=${percent} onInput=${setPercent} fault=${fault} required inputmode="decimal" /></div><${Refusal} fault=${fault} /><footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy}>Give ${percent || '…'} %</button></footer></form><//>`
}
