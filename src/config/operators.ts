import { parseUsd, type Usd } from '../base/money.ts'
import type { Secret } from '../base/secret.ts'
import type { Config, OperatorsConfig } from './config.ts'
import type { OptionReader } from './options.ts'

const SECOND_PERSON = 'SUTLER_SECOND_PERSON_FROM'
const SUPPORT = 'SUTLER_SUPPORT_REFUNDS_PER_DAY'

/** Without a token nobody could run the shop over HTTP before there were people; it stays so unless the console is asked for. */
export function readOperators(
  read: OptionReader,
  { token, mode }: { readonly token: Secret | null; readonly mode: Config['mode'] },
): OperatorsConfig {
  return {
    console: read.choice('SUTLER_CONSOLE', ['on', 'off'], token === null ? 'off' : 'on') === 'on',
    supportRefundsPerDay: amountOf(read, SUPPORT, read.text(SUPPORT, '100.00')),
    secondPersonFrom: readSecondPerson(read),
    tokenRole: mode === 'sandbox' ? 'admin' : 'viewer',
  }
}

function readSecondPerson(read: OptionReader): Usd | null {
  const text = read.text(SECOND_PERSON, 'never')
  return text === 'never' ? null : amountOf(read, SECOND_PERSON, text)
}

function amountOf(read: OptionReader, option: string, text: string): Usd {
  return /^\d{1,12}(\.\d{1,6})?$/.test(text)
    ? parseUsd(text)
    : read.fault(option, 'must be an amount of dollars, such as 100.00', parseUsd('0'))
}
