/** What a refusal says of the money, in its members and in its words. */
export async function claimOf(answer: Response) {
  const { code, detail, payment } = (await answer.json()) as {
    code: string
    detail: string
    payment: { taken: unknown }
  }
  return { status: answer.status, code, taken: payment.taken, isFree: /nothing was taken|not taken/i.test(detail) }
}
