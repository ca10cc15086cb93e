import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { railCases } from './rail.cases.ts'

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) railCases(rail)
