import type { JsonObject } from '../../base/json.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { ShownPayment } from '../../checkout/payment-lookup.ts'
import {
  type Credential,
  declaredRails,
  type Incoming,
  type Rail,
  type RailHeaders,
  type RailTraits,
  SpoiltPayment,
} from '../../domain/rail.ts'
import type { PaidRoute, Route } from '../../domain/route.ts'
import type { HttpRequest } from '../http/request.ts'
import { type PaymentHeader, paymentHeader } from './payment-header.ts'

/** Why a payment is not for a route; `shown`: null where no rail of this shop can read it. */
type MisplacedPayment = { readonly problem: Problem; readonly shown: ShownPayment | null }

/** Names a payment that a route cannot take; null when there is none of that kind. */
type MisplacedFinder = (request: HttpRequest, isPaid: boolean) => MisplacedPayment | null

/**
 * A payment of another protocol, or in the header of another version, is none here. Whoever sends one and hears only "pay" would send it
 * again for ever, so it is named, and so are the header and the address that are right.
 */
export function createMisplacedFinder(
  route: PaidRoute,
  { routes, checkout }: { readonly routes: readonly Route[]; readonly checkout: Pick<Checkout, 'offers'> },
): MisplacedFinder {
  const { rail } = route.offer
  const own = paymentHeader(rail.headers.credential)
  const paid = routes.filter((other): other is PaidRoute => other.kind === 'paid')
  const readers = [...paid.map(({ offer }) => offer.rail), ...railsOf(checkout)]
  const others = declaredRails()
    .filter(({ name }) => name !== rail.name)
    .map((traits) => ({
      header: paymentHeader(traits.headers.credential),
      misplaced: otherProtocol(traits, route, { paid, readers }),
    }))
  const mistaken = (rail.headers.mistaken ?? []).map(({ name, what }) => ({
    name: name.toLowerCase(),
    misplaced: otherVersion(name, what, route),
  }))

  return (request, isPaid) => {
    if (!isPaid) return mistaken.find(({ name }) => request.header(name) !== undefined)?.misplaced ?? null
    const isHere = ({ name, isPayment }: PaymentHeader) => {
      const value = request.header(name)
      return value !== undefined && isPayment(value)
    }
    return isHere(own) ? null : (others.find(({ header }) => isHere(header))?.misplaced(request) ?? null)
  }
}

/** `readers`: nothing may be sold by a protocol any more, and yet money has come by it. */
function otherProtocol(
  traits: RailTraits,
  route: PaidRoute,
  { paid, readers }: { readonly paid: readonly PaidRoute[]; readonly readers: readonly Rail[] },
) {
  const { rail, good } = route.offer
  const twin = paid.find(({ offer }) => offer.rail.name === traits.name && offer.good.name === good.name)
  const theirs = readers.filter(({ name }) => name === traits.name)
  const url = twin ? urlOf(twin) : null
  const taken = url
    ? ` ${traits.label} is taken at ${url}.`
    : ` No route of this shop sells the same for ${traits.label}.`
  const detail = `This is a payment by ${traits.label}; this route takes ${rail.label}, in ${words(rail.headers)}.${taken}`
  const sent = { protocol: traits.name, header: words(traits.headers), url }
  const wanted = wantedBy(route)
  const problem = new Problem('payment_misplaced', detail, { members: { payment: { sent, wanted } } })
  return (request: HttpRequest): MisplacedPayment => ({
    problem,
    shown: shownTo(theirs, { header: request.header, meta: () => undefined }),
  })
}

/** Every rail that sells, or still answers for what was sold before. */
export function railsOf({ offers }: Pick<Checkout, 'offers'>): readonly Rail[] {
  return [...new Set([...offers.values()].map(({ rail }) => rail))]
}

/** A payment as a rail of its protocol reads it. Null also for what cannot be read, unless it says that its money has moved. */
export function shownTo([rail]: readonly Rail[], incoming: Incoming): ShownPayment | null {
  try {
    const credential = rail?.read(incoming)
    return rail && credential ? { rail, credential } : null
  } catch (error) {
    if (error instanceof SpoiltPayment) return error
    if (isProblem(error) && error.extra.taken === undefined) return null
    throw error
  }
}

/** Null also for what cannot be read. */
export function readBy(rail: Rail, incoming: Incoming): Credential | null {
  try {
    return rail.read(incoming)
  } catch (error) {
    if (isProblem(error)) return null
    throw error
  }
}

function otherVersion(name: string, what: string, route: PaidRoute): MisplacedPayment {
  const { rail } = route.offer
  const wanted = wantedBy(route)
  const problem = new Problem(
    'payment_misplaced',
    `${name} is ${what}, which is not taken here. Pay the challenge in this answer, and send that payment in ${wanted.header}.`,
    { members: { payment: { sent: { protocol: rail.name, header: name, url: null }, wanted } } },
  )
  return { problem, shown: null }
}

function wantedBy(route: PaidRoute): { readonly protocol: string; readonly header: string; readonly url: string } {
  const { rail } = route.offer
  return { protocol: rail.name, header: words(rail.headers), url: urlOf(route) } satisfies JsonObject
}

function words({ credential: { name, scheme } }: RailHeaders): string {
  return scheme === null ? name : `${name}: ${scheme}`
}

function urlOf({ offer, path }: PaidRoute): string {
  return offer.rail.baseUrl + path
}
