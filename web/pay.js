// Buys from a page, as any client does: asks, reads the 402, has it signed, and asks again with the payment. Whatever happens ends in words,
// and one payment is signed for one press of a button: a lost answer is asked for with the same payment, which is never taken twice.
// In front of it stands SIGNERS: how each protocol that a wallet can sign for is signed.
class Stop extends Error {
  constructor(kind, title, words, link) {
    super(words)
    Object.assign(this, { kind, title, link })
  }
}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const make = (name, text, set = {}) => Object.assign(document.createElement(name), { textContent: text }, set)
/** Wallets of this browser (EIP-1193), found by EIP-6963. */
const browserWallet = (provider, name, rail) => ({
  async account(show) {
    show(`Asking ${name} which account pays.`)
    const [account] = await ask(provider, 'eth_requestAccounts')
    if (!account)
      throw new Stop('refused', 'No account', 'The wallet named no account. Nothing was signed and nothing was taken.')
    return account
  },
  async sign(response, account, show) {
    const terms = SIGNERS[rail].terms(response)
    await onNetwork(provider, terms.chainId, show)
    await enough(provider, terms, account)
    const { typed, finish } = SIGNERS[rail].message(response, account)
    show(`Asking ${name} to sign this, and nothing else.`, JSON.stringify(typed, null, 2))
    return finish(await ask(provider, 'eth_signTypedData_v4', [account, JSON.stringify(typed)]))
  },
})
async function ask(provider, method, params) {
  try {
    return await provider.request({ method, params })
  } catch (error) {
    if (error?.code === 4001)
      throw new Stop('refused', 'You refused', 'The wallet was told no. Nothing was signed and nothing was taken.')
    throw error
  }
}
async function onNetwork(provider, chainId, show) {
  const wanted = `0x${chainId.toString(16)}`
  const now = async () => Number(await provider.request({ method: 'eth_chainId' }))
  const before = await now()
  if (before === chainId) return
  show(`The wallet is on network ${before}; asking it for ${chainId}.`)
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: wanted }] })
  } catch {}
  if ((await now()) !== chainId)
    throw new Stop(
      'network',
      'The wallet is on another network',
      'This is paid on network ' +
        chainId +
        ', and the wallet stays on ' +
        before +
        '. Switch it there and try again. Nothing was signed and nothing was taken.',
    )
}
async function enough(provider, { asset, amount }, account) {
  const data = `0x70a08231${account.slice(2).toLowerCase().padStart(64, '0')}`
  let balance
  try {
    balance = BigInt(await provider.request({ method: 'eth_call', params: [{ to: asset, data }, 'latest'] }))
  } catch {
    return
  }
  if (balance < BigInt(amount))
    throw new Stop(
      'funds',
      'Too little money',
      'This costs ' +
        dollars(amount) +
        ', and ' +
        account +
        ' holds ' +
        dollars(balance) +
        '. Nothing was signed and nothing was taken.',
    )
}
const dollars = (atomic) => `${(Number(atomic) / 1e6).toFixed(2)} USD`
/** The wallet of the sandbox: its key is published, and its money is play money. */
const demoWallet = (demo) => ({
  account: async () => demo.address,
  async sign(response, _account, show, request) {
    const told = {
      url: response.url,
      ...request,
      challenge: { headers: Object.fromEntries(response.headers), body: await response.clone().text() },
    }
    const answer = await fetch(demo.signUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(told),
    })
    const signed = await answer.json()
    if (!answer.ok) throw new Stop('failed', signed.title, signed.detail)
    show('The demo wallet signed this.', JSON.stringify(signed.content, null, 2))
    return signed
  },
})
/** The payment is out, and nobody has said for good what became of it: it stays at hand, and no other is signed for it. */
const unanswered = ({ reference }, title, words) =>
  new Stop(
    'lost',
    title,
    `${words} Do not pay again: look what became of it, or ask again with the same payment.`,
    `/payments/${reference}`,
  )
const TRIES = 4
const LOOKS = 60
/** One payment, sent until somebody answers. */
async function send(plan, init, payment, show) {
  for (let tries = 1; ; tries++) {
    try {
      return await fetch(plan.url, { ...init, headers: { ...init.headers, [payment.name]: payment.value } })
    } catch {
      if (tries === TRIES)
        throw unanswered(payment, 'The answer was lost', 'The payment was sent, and nothing came back.')
      show('No answer came. The same payment is sent again; it cannot be taken twice.')
      await pause(300 * 2 ** tries)
    }
  }
}
async function followed(answer, body, show) {
  const at = body.retry?.statusUrl ?? body.statusUrl
  if (!at) return { answer, body }
  show('Paid, and on its way. Looking again.')
  for (let looks = 0; looks < LOOKS && answer.status === 202; looks++) {
    await pause(1000 * Number(answer.headers.get('retry-after') ?? 2))
    answer = await fetch(new URL(at).pathname)
    body = await answer.json()
  }
  return { answer, body }
}
async function read(first, payment, show) {
  try {
    const body = await first.json()
    return first.status === 202 ? await followed(first, body, show) : { answer: first, body }
  } catch (error) {
    if (!payment) throw error
    throw unanswered(
      payment,
      'The answer could not be read',
      'The payment was sent, and what came back is not from the shop.',
    )
  }
}
async function told(first, payment, show) {
  const { answer, body } = await read(first, payment, show)
  const link = `/payments/${body.orderId ?? payment?.reference ?? ''}`
  if (answer.status === 200 && body.status !== 'refunded') {
    if (body.paymentTx) show(`Settled in transaction ${body.paymentTx}.`)
    show('Delivered.', JSON.stringify(body, null, 2))
    if (body.receipt) show('A signed receipt came with it.', body.receipt)
    return {
      kind: 'delivered',
      title: 'Paid and delivered',
      message: `It cost ${body.price ? `${body.price.amount} ${body.price.currency}` : 'what was asked'}.`,
      link,
    }
  }
  if (answer.status === 402)
    throw new Stop(
      body.code === 'insufficient_funds' ? 'funds' : 'refused',
      body.title,
      `${body.detail} Nothing was taken.`,
    )
  if (answer.status === 202 || answer.status === 200)
    return {
      kind: body.status,
      title: body.status === 'refunded' ? 'The money was sent back' : 'Still on its way',
      message: body.error?.detail ?? 'Do not pay again.',
      link,
    }
  const isFinal = body.payment !== undefined && answer.status < 500 && answer.status !== 429
  if (payment && !isFinal) throw unanswered(payment, body.title ?? 'The shop could not answer', body.detail ?? '')
  throw new Stop('failed', body.title, body.detail, payment ? link : undefined)
}
function mount(form) {
  const plan = JSON.parse(form.dataset.plan)
  const [steps, end, buttons] = ['.steps', '.end', '.buttons'].map((part) => form.querySelector(part))
  const kept = `unanswered ${plan.url}`
  const show = (words, detail) => {
    const item = make('li', words)
    if (detail !== undefined) {
      const more = document.createElement('details')
      more.append(make('summary', 'Show it'), Object.assign(make('pre', detail), { tabIndex: 0 }))
      item.append(more)
    }
    steps.append(item)
  }
  const finish = ({ kind, title, message, link }) => {
    end.dataset.end = kind
    end.replaceChildren(make('h3', title), make('p', message))
    if (link) end.lastChild.append(' ', make('a', 'See the payment', { href: link }), '.')
    if (kind === 'lost') {
      const again = make('button', 'Ask again with the same payment', { type: 'button' })
      again.addEventListener('click', () => run(again, resume))
      end.append(again)
    }
  }
  async function run(_button, work) {
    if (form.ariaBusy === 'true') return
    form.ariaBusy = 'true'
    for (const other of form.querySelectorAll('button')) other.disabled = true
    end.replaceChildren()
    delete end.dataset.end
    try {
      finish(await work())
      sessionStorage.removeItem(kept)
    } catch (error) {
      if (error.kind !== 'lost') sessionStorage.removeItem(kept)
      finish({
        kind: error.kind ?? 'failed',
        title: error.title ?? 'It did not work',
        message: error.message,
        link: error.link,
      })
    } finally {
      form.ariaBusy = 'false'
      for (const other of form.querySelectorAll('button')) other.disabled = false
    }
  }
  async function resume() {
    const { init, payment } = JSON.parse(sessionStorage.getItem(kept))
    return told(await send(plan, init, payment, show), payment, show)
  }
  async function buy(wallet) {
    steps.replaceChildren()
    if (sessionStorage.getItem(kept)) {
      show('An earlier payment from here was not answered yet. It is asked for first, and no other is signed.')
      return resume()
    }
    const account = await wallet.account(show)
    const request = requestOf(form, plan, account)
    const init = {
      method: request.method,
      ...(request.body === undefined ? {} : { body: request.body }),
      headers: {
        accept: 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    }
    const asked = await fetch(plan.url, init)
    if (asked.status !== 402) return told(asked, null, show)
    show(
      `The shop asks for a payment by ${plan.label} (402). Nothing is taken yet.`,
      JSON.stringify(await asked.clone().json(), null, 2),
    )
    const payment = await wallet.sign(asked, account, show, request)
    // Before it is sent: whatever happens from here on, the same payment can be asked about.
    sessionStorage.setItem(kept, JSON.stringify({ init, payment }))
    show(`Sending the same request with the payment in ${payment.name}.`)
    return told(await send(plan, init, payment, show), payment, show)
  }
  function offer(words, wallet) {
    const button = make('button', words, { type: 'button' })
    button.addEventListener('click', () => form.reportValidity() && run(button, () => buy(wallet)))
    buttons.append(button)
  }
  if (plan.demo) offer(plan.demo.words, demoWallet(plan.demo))
  if (SIGNERS[plan.rail] && !plan.isShort) {
    const known = new Set()
    addEventListener('eip6963:announceProvider', ({ detail: { info, provider } }) => {
      if (known.has(info.uuid)) return
      known.add(info.uuid)
      form.querySelector('.none')?.remove()
      offer(`Pay with ${info.name.slice(0, 40)}`, browserWallet(provider, info.name.slice(0, 40), plan.rail))
    })
    dispatchEvent(new Event('eip6963:requestProvider'))
  }
  form.addEventListener('submit', (event) => event.preventDefault())
  if (sessionStorage.getItem(kept))
    finish({
      kind: 'lost',
      title: 'A payment was sent and not answered',
      message: 'Do not pay again: look what became of it, or ask again with the same payment.',
      link: `/payments/${JSON.parse(sessionStorage.getItem(kept)).payment.reference}`,
    })
}
function requestOf(form, plan, account) {
  if (!plan.hasBody) return { method: plan.method }
  const body = { ...plan.fixed }
  for (const input of form.querySelectorAll('[name]')) {
    if (input.dataset.own && input.value === '') input.value = account
    const text = input.value.trim()
    if (text === '') continue
    body[input.name] =
      input.dataset.kind === 'number' ? Number(text) : input.dataset.kind === 'json' ? JSON.parse(text) : text
  }
  return { method: plan.method, body: JSON.stringify(body) }
}
for (const form of document.querySelectorAll('form[data-plan]')) mount(form)
