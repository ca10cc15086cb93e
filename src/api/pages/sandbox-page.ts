import type { JsonObject } from '../../base/json.ts'
import type { PaidRoute } from '../../domain/route.ts'
import { cheapest } from '../facts/example.ts'
import type { Facts } from '../facts/facts.ts'
import { type Html, html } from './html.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'
import { readyForm } from './purchase-form.ts'
import { sandboxScript } from './scripts.ts'
import { table } from './table.ts'

type Sandbox = {
  readonly demo: { readonly privateKey: string; readonly address: string; readonly nickname: string }
  readonly players: readonly { readonly nickname: string; readonly address: string | null }[]
  readonly chains: Readonly<Record<string, { readonly chainId: number; readonly rpcUrl: string }>>
  readonly magic: readonly { readonly value: string; readonly where: string; readonly effect: string }[]
  readonly operatorToken: string | null
}

/** Everything that somebody needs to try the shop, at hand. */
export function sandboxPage({ body, facts, request }: PageContent): Shown {
  const { demo, players, chains, magic, operatorToken } = body as unknown as Sandbox
  return {
    title: `${facts.config.service.name}: sandbox`,
    description: 'Keys, play money, players, values that make things fail, and purchases by the press of a button.',
    path: request.path,
    script: sandboxScript(facts.rails),
    connects: true,
    main: html`<h1>Sandbox</h1>
<p class="lead">Everything here is play money: the keys are published, and the chains run inside this shop.</p>
${operatorToken ? html`<p class="note">Be the operator: <a href="/operator/enter#sandbox">open the console</a>, where every order made here is to be looked at, sent back or made to fail.</p>` : []}
<h2>Buy something</h2>
<p>The demo wallet pays, by either protocol, and each step is shown.</p>
<div class="ready">${purchases(facts, demo)}</div>
<h2>Keys</h2>
<dl>${[
      ['Demo key', demo.privateKey],
      ['Demo address', demo.address],
      ...(operatorToken ? [['Operator token', operatorToken]] : []),
      ...Object.entries(chains).map(([name, { chainId, rpcUrl }]) => [`Chain ${chainId} (${name})`, rpcUrl]),
    ].map(
      ([what, value]) =>
        html`<dt>${what!}</dt><dd><code>${value!}</code> <button type="button" class="copy" data-copy="${value!}" aria-label="Copy: ${what!}">Copy</button></dd>`,
    )}</dl>
<h2>Faucet</h2>
<form id="faucet"><p class="field"><label for="faucet-address">Your address</label><input id="faucet-address" name="address" required pattern="0x[0-9a-fA-F]{40}" placeholder="0x…" autocomplete="off" spellcheck="false"><span class="soft">Gets gas, dollars on both chains, craft tokens and three NFTs.</span></p>
<p><button type="submit">Fill it</button></p><p class="end" role="status"></p></form>
<h2>Orders</h2>
<p class="soft">The newest first; looked at every two seconds.</p>
<div id="orders" data-token="${operatorToken ?? ''}"><p class="soft">None yet.</p></div>
<h2>Players</h2>
${table(
  'Players',
  ['Nickname', 'Wallet'],
  players.map(({ nickname, address }) => ({ cells: [nickname, html`<code>${address ?? 'none'}</code>`] })),
)}
<h2>Values that make things fail</h2>
${table(
  'Values that make things fail',
  ['Value', 'Where', 'What happens'],
  magic.map(({ value, where, effect }) => ({
    cells: [html`<code>${value}</code>`, html`<code>${where}</code>`, effect],
  })),
)}
<h2>For programs</h2>
<p><code>GET /sandbox</code> tells all of this as JSON, <code>POST /sandbox/faucet {"address"}</code> and <code>POST /sandbox/players {"nickname","address"}</code> do what the buttons do.</p>`,
  }
}

/** The cheapest thing of each shelf, by each protocol. */
function purchases(facts: Facts, demo: Sandbox['demo']): readonly Html[] {
  return facts.paid.flatMap(({ route }) => {
    const { surface, offer } = route
    const item = cheapest(facts.items.filter((one) => one.surface === surface))
    const fixed = item && bodyOf(route, item.id, demo)
    if (!fixed) return []
    const words = `${item.displayName}, ${item.price.amount} by ${offer.rail.label}`
    return [readyForm(facts, route, { words, fixed })]
  })
}

/** The example of the route, for this item and for the demo player. */
function bodyOf({ example, idField }: PaidRoute, id: string, demo: Sandbox['demo']): JsonObject | null {
  if (idField === null) return null
  const own = Object.entries(example).map(([name, value]) => {
    if (name === idField) return [name, typeof value === 'number' ? Number(id) : id]
    return [name, typeof value === 'string' && value.startsWith('0x') ? demo.address : value]
  })
  return Object.fromEntries(own) as JsonObject
}
