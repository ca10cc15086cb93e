const CHARS_MAX = 100
/** More than a third of it is another word. */
const DISTANCE_SHARE_MAX = 0.34

/** Which of the known words somebody may have meant; null when none is near. Of equals it is the first. */
export function nearestWord(asked: string, known: readonly string[]): string | null {
  const word = asked.slice(0, CHARS_MAX).toLowerCase()
  let near: string | null = null
  let least = Math.floor(word.length * DISTANCE_SHARE_MAX) + 1
  for (const other of known) {
    const distance = distanceBetween(word, other, least)
    if (distance < least) {
      near = other
      least = distance
    }
  }
  return near
}

/** How many letters differ (Levenshtein), or `most` when it is that many or more. */
function distanceBetween(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) >= most) return most
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one.charCodeAt(i - 1) === other.charCodeAt(j - 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1)))
    }
    row = next
  }
  return Math.min(most, row[other.length]!)
}
