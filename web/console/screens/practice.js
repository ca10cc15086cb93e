// Only in the sandbox: make a good day or a bad one, and see what becomes of it on the other screens.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { toast } from '../over.js'
import { Badge, Empty, Head, html, Id, Link, Panel, Status } from '../parts.js'
import { ask, isOffline, request, tell } from '../shop.js'
import { number, plain } from '../words.js'

/** Routes that sell something from a shelf, as the shop's own contract lists them. */
async function salesRoutes() {
  const { paths } = await ask('/openapi.json')
  return Object.entries(paths).flatMap(([path, { post }]) => {
    const schema = post?.requestBody?.content?.['application/json']?.schema
    const names = Object.keys(schema?.properties ?? {})
    const shelf = names.includes('itemId') ? 'item' : names.includes('saleId') ? 'lot' : null
    return shelf ? [{ path, shelf }] : []
  })
}

/** Buys as any client does: asks, has the 402 signed by the demo wallet, and asks again with the payment. */
async function buy(path, body) {
  const call = {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  }
  const first = await fetch(path, call)
  if (first.status !== 402) return { ...(await first.json()), http: first.status }
  const challenge = { headers: Object.fromEntries(first.headers), body: await first.text() }
  const signed = await request('/sandbox/wallet', {
    ...call,
    body: JSON.stringify({ url: new URL(path, location.href).href, method: 'POST', body: call.body, challenge }),
  })
  const answer = await fetch(path, { ...call, headers: { ...call.headers, [signed.name]: signed.value } })
  return { ...(await answer.json()), http: answer.status }
}

const SCENES = [
  {
    id: 'demo',
    title: 'Run the demo',
    words: 'One after the other: sold, minted, refused, sent back, sold out.',
    plays: ['good', 'mint', 'refused', 'revert', 'soldout'],
  },
  {
    id: 'good',
    title: 'A good order',
    words: 'A player buys an item by each protocol, and gets it.',
    shelf: 'item',
    body: (facts) => ({ itemId: 'keys:5', nickname: facts.demo.nickname }),
  },
  {
    id: 'mint',
    title: 'An NFT is sold',
    words: 'A lot of the sale contract, minted on the chain.',
    shelf: 'lot',
    body: (facts) => ({ saleId: 391, quantity: 1, beneficiary: facts.demo.address }),
  },
  {
    id: 'refused',
    title: 'The game refuses',
    words: 'Paid, then not deliverable. The money goes back by itself.',
    shelf: 'item',
    body: () => ({ itemId: 'keys:5', nickname: 'fail_delivery' }),
  },
  {
    id: 'revert',
    title: 'The mint reverts',
    words: 'The contract refuses what was paid for. The money goes back.',
    shelf: 'lot',
    body: (facts) => ({ saleId: 399, quantity: 1, beneficiary: facts.demo.address }),
  },
  {
    id: 'slow',
    title: 'A slow delivery',
    words: 'The buyer is told to wait; some seconds later it is there.',
    shelf: 'item',
    body: () => ({ itemId: 'keys:5', nickname: 'slow_delivery' }),
  },
  {
    id: 'flaky',
    title: 'Third time lucky',
    words: 'Delivery fails twice, then works: look at the attempts.',
    shelf: 'item',
    body: () => ({ itemId: 'keys:5', nickname: 'flaky_delivery' }),
  },
  {
    id: 'soldout',
    title: 'Sold out',
    words: 'Refused before anybody pays: a line in the funnel.',
    shelf: 'lot',
    body: (facts) => ({ saleId: 398, quantity: 1, beneficiary: facts.demo.address }),
  },
]

export default function Practice() {
  const facts = useData('/sandbox')
  const state = useData('/sandbox/practice')
  const [busy, setBusy] = useState('')
  const [told, setTold] = useState([])
  const play = async (scene) => {
    setBusy(scene.id)
    try {
      const routes = await salesRoutes()
      for (const { shelf, title, body } of scene.plays?.map((id) => SCENES.find((one) => one.id === id)) ?? [scene])
        for (const { path } of routes.filter((route) => route.shelf === shelf)) {
          const outcome = await buy(path, body(facts.data))
          setTold((old) => [{ ...outcome, scene: title, path, at: Date.now() }, ...old].slice(0, 12))
        }
    } catch (error) {
      toast(error.message, 'warn')
    } finally {
      setBusy('')
    }
  }
  const practise = async (deed, words) => {
    setBusy(JSON.stringify(deed))
    try {
      await tell('POST', '/sandbox/practice', deed)
      toast(words)
      state.again()
    } catch (error) {
      toast(error.message, 'warn')
    } finally {
      setBusy('')
    }
  }
  const isIdle = busy === '' && facts.data && !isOffline.value
  return html`<${Head} title="Practice" sub="Play money, chains in this process: nothing here can hurt anybody. Make something happen, then look at it where an operator would." />
    <div class="stack"><section class="card" aria-label="Make orders"><header><h2>Make orders</h2></header><div class="scenes">${SCENES.map((scene) => html`<button type="button" class="scene" disabled=${!isIdle} onClick=${() => play(scene)}><b>${scene.title}</b><small>${busy === scene.id ? 'Buying…' : scene.words}</small></button>`)}</div></section>
    <div class="half"><section class="card" aria-label="What came of it"><header><h2>What came of it</h2><${Link} to="/operator/orders" class="small">Orders<//></header>${
      told.length === 0
        ? html`<${Empty} icon="flask" title="Nothing yet">Press one of the buttons above.<//>`
        : html`<ul class="rows">${told.map((one) => {
            const orderId = one.orderId ?? one.order?.orderId ?? one.payment?.orderId
            return html`<li key=${one.at + one.path}><${Badge} tone=${one.http < 300 ? 'ok' : one.http === 402 ? 'off' : 'warn'}>${one.http}<//><span class="grow">${one.scene} <small class="soft block">${one.detail ?? plain(String(one.http === 200 ? 'delivered' : one.http === 202 ? 'still moving' : (one.title ?? '')))}</small></span><span class="end">${orderId ? html`<${Link} to="/operator/orders/${orderId}">Look at it<//>` : html`<small class="mono soft">${one.code ?? ''}</small>`}</span></li>`
          })}</ul>`
    }</section>
    <${Panel} of=${state} title="A bad day" height=${260}>${({
      chains,
      wallets,
      stray,
    }) => html`<ul class="rows">${chains.map(({ chainId, isDown }) => html`<li><span class="grow"><${Status} of=${isDown ? 'fail' : 'ok'} words="Chain ${chainId}" /><small class="block soft">${isDown ? 'The shop cannot reach it: what needs it is not sold, what is paid for waits.' : 'The shop reaches it.'}</small></span><span class="end"><button type="button" disabled=${!isIdle} onClick=${() => practise({ deed: isDown ? 'chain_up' : 'chain_down', chainId }, isDown ? 'The chain is back' : 'The chain is down; System and Needs you will tell')}>${isDown ? 'Bring it back' : 'Take it down'}</button></span></li>`)}
      ${wallets.map(({ role, address, gas }) => html`<li><span class="grow"><${Status} of=${Number(gas) > 0 ? 'ok' : 'warn'} words=${plain(role)} /><small class="block soft">${number(gas)} ETH for gas, <${Id} of=${address} /></small></span><span class="end"><button type="button" disabled=${!isIdle} onClick=${() => practise({ deed: Number(gas) > 0 ? 'empty_wallet' : 'fill_wallet', role }, Number(gas) > 0 ? 'The wallet is empty' : 'The wallet is full')}>${Number(gas) > 0 ? 'Empty it' : 'Fill it'}</button></span></li>`)}
      <li><span class="grow"><b>Money without an order</b><small class="block soft">${stray} USDC reach the till and pay for nothing.</small></span><span class="end"><button type="button" disabled=${!isIdle} onClick=${() => practise({ deed: 'stray_money' }, 'Sent astray; the next comparison with the chain finds it')}>Send it astray</button></span></li></ul>`}<//></div></div>`
}
