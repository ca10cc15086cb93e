// The live parts of the sandbox's page: copying, the faucet, and the newest orders. In front of it stands pay.js.
for (const button of document.querySelectorAll('button.copy'))
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy)
    button.textContent = 'Copied'
  })
const faucet = document.querySelector('#faucet')
faucet.addEventListener('submit', async (event) => {
  event.preventDefault()
  const end = faucet.querySelector('.end')
  end.textContent = 'Filling it.'
  const answer = await fetch('/sandbox/faucet', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ address: faucet.elements.address.value }),
  })
  const body = await answer.json()
  end.textContent = answer.ok
    ? 'Filled: ' +
      Object.entries(body.funded)
        .map(([what, amount]) => `${amount} ${what}`)
        .join(', ') +
      ', ' +
      body.nfts.length +
      ' NFTs.'
    : body.detail
})
const place = document.querySelector('#orders')
const LOOK_MS = 2000
async function look() {
  const answer = await fetch('/operator/orders?limit=10', {
    headers: { accept: 'application/json', authorization: `Bearer ${place.dataset.token}` },
  })
  if (!answer.ok) return
  const { orders } = await answer.json()
  if (orders.length === 0) return
  place.replaceChildren(make('ul', ''))
  for (const order of orders) {
    const line = make('li', '')
    line.append(
      make('a', order.orderId, { href: `/payments/${order.orderId}` }),
      ` ${order.good} by ${order.protocol}: ${order.status}`,
    )
    place.firstChild.append(line)
  }
}
if (place.dataset.token) {
  const again = () =>
    look()
      .catch(() => {})
      .finally(() => setTimeout(again, LOOK_MS))
  again()
}
