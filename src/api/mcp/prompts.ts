import { CODE, isObject, McpError, type Members } from './protocol.ts'
import type { McpPrompt } from './server.ts'

// Words of ours alone: a model takes them for instructions. What a person fills in is quoted, and stands in the user's own message.

/** What people come to a shop for. */
export const prompts: readonly McpPrompt[] = [
  {
    listing: {
      name: 'buy',
      title: 'Buy something',
      description: 'Find it, check the price, and buy it only after you have agreed.',
      arguments: [
        { name: 'what', description: 'What you want to buy', required: true },
        { name: 'budget', description: 'The most you want to spend, in dollars', required: false },
      ],
    },
    text: ({ what = '', budget }) =>
      `I want to buy: ${quoted(what)}. ${budget ? `Spend at most ${quoted(budget)} dollars. ` : ''}` +
      'Look with list_offers, check it with the quote tool that the offer names, tell me the exact price and whom it is for, and call the paid tool only after I said yes. ' +
      'Pay once. If the answer says that it is still under way, follow it with get_purchase_status and do not pay again.',
  },
  {
    listing: {
      name: 'track',
      title: 'Follow a purchase',
      description: 'What became of a payment, and what to do next.',
      arguments: [
        { name: 'reference', description: 'Order id, payment transaction, nonce or challenge id', required: true },
      ],
    },
    text: ({ reference = '' }) =>
      `What became of my purchase ${quoted(reference)}? Ask get_purchase_status. Tell me whether money moved, what it bought, and what I should do now. Do not pay anything.`,
  },
  {
    listing: {
      name: 'refund-rights',
      title: 'What happens if it fails',
      description: 'When money comes back by itself, and how to see that it did.',
      arguments: [{ name: 'reference', description: 'A purchase that you ask about', required: false }],
    },
    text: ({ reference }) =>
      'Explain when this shop sends money back: what was paid for and can never be delivered goes back by itself, in full, to whoever paid, once; a refused payment takes nothing; a delivered purchase is final unless the operator decides otherwise.' +
      (reference
        ? ` Then look up ${quoted(reference)} with get_purchase_status and tell me which of these applies.`
        : ''),
  },
]

const VALUE_CHARS_MAX = 500

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, VALUE_CHARS_MAX))
}

/** `prompts/get`. */
export function promptOf(all: readonly McpPrompt[], { name, arguments: given = {} }: Members) {
  const prompt = all.find(({ listing }) => listing.name === name)
  if (!prompt) throw new McpError(CODE.invalidParams, `Unknown prompt: ${String(name).slice(0, 128)}`)
  if (!isObject(given) || Object.values(given).some((value) => typeof value !== 'string'))
    throw new McpError(CODE.invalidParams, 'params.arguments must be an object of strings')
  const missing = prompt.listing.arguments.find((argument) => argument.required && !given[argument.name])
  if (missing) throw new McpError(CODE.invalidParams, `The prompt ${prompt.listing.name} needs ${missing.name}`)
  const text = prompt.text(given as Record<string, string>)
  return { description: prompt.listing.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}
