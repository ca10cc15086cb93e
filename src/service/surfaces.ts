import { craft } from '../surfaces/craft/surface.ts'
import { gateway } from '../surfaces/gateway/surface.ts'
import { sale } from '../surfaces/sale/surface.ts'
import { shop } from '../surfaces/shop/surface.ts'
import type { Surface } from '../surfaces/surface.ts'

/** All that can be sold. A new family of goods is a folder, and a line here. */
export const surfaces: readonly Surface[] = [sale, shop, gateway, craft]
