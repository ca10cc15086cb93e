// How a page pays x402 with a wallet of the browser. `terms` reads what a 402 asks for; `message` is what the wallet is to sign (EIP-712), and
// makes the header of its signature.
SIGNERS.x402 = {
  terms(response) {
    const [accepted] = this.required(response).accepts
    const { asset, amount, network, payTo } = accepted
    return { chainId: Number(network.split(':')[1]), asset, amount, payTo }
  },
  message(response, from) {
    const {
      resource,
      accepts: [accepted],
    } = this.required(response)
    const { asset, amount, network, payTo, maxTimeoutSeconds, extra } = accepted
    // By the shop's clock: that of this machine may be wrong.
    const now = Math.floor(Date.parse(response.headers.get('date') ?? new Date().toUTCString()) / 1000)
    const bytes = crypto.getRandomValues(new Uint8Array(32))
    const nonce = `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
    const authorization = {
      from,
      to: payTo,
      value: amount,
      validAfter: String(now - 60),
      validBefore: String(now + maxTimeoutSeconds),
      nonce,
    }
    const field = (type, name) => ({ name, type })
    const typed = {
      types: {
        EIP712Domain: [
          field('string', 'name'),
          field('string', 'version'),
          field('uint256', 'chainId'),
          field('address', 'verifyingContract'),
        ],
        TransferWithAuthorization: [
          field('address', 'from'),
          field('address', 'to'),
          field('uint256', 'value'),
          field('uint256', 'validAfter'),
          field('uint256', 'validBefore'),
          field('bytes32', 'nonce'),
        ],
      },
      primaryType: 'TransferWithAuthorization',
      domain: {
        name: extra.name,
        version: extra.version,
        chainId: Number(network.split(':')[1]),
        verifyingContract: asset,
      },
      message: authorization,
    }
    const finish = (signature) => ({
      name: 'PAYMENT-SIGNATURE',
      value: btoa(JSON.stringify({ x402Version: 2, resource, accepted, payload: { authorization, signature } })),
      reference: nonce,
    })
    return { typed, finish }
  },
  required: (response) => JSON.parse(atob(response.headers.get('PAYMENT-REQUIRED'))),
}
