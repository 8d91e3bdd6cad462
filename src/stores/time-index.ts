/** Positions per span. A span takes sixteen bytes, so the spans of a million events take 61 KiB. */
const SPAN_EVENTS = 256;

/** A range of times: `since` is inclusive, `until` exclusive. */
interface TimeRange {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * The earliest and the latest time of every 256 events. Times rise with positions only roughly: a clock may be set
 * back, and imported events keep their time. So a search by time reads every span that overlaps the range.
 */
export class TimeIndex {
  private readonly earliest: number[] = [];
  private readonly latest: number[] = [];
  private count = 0;

  /** Adds the time of the next position, starting at 1. NaN, from an unreadable time, is in no range. */
  add(atMs: number): void {
    if (this.count % SPAN_EVENTS === 0) {
      this.earliest.push(Number.POSITIVE_INFINITY);
      this.latest.push(Number.NEGATIVE_INFINITY);
    }
    this.count += 1;
    const last = this.latest.length - 1;
    if (atMs < (this.earliest[last] as number)) this.earliest[last] = atMs;
    if (atMs > (this.latest[last] as number)) this.latest[last] = atMs;
  }

  /** A page of ascending positions that include every position with a time in the range. */
  page(
    { sinceMs, untilMs }: TimeRange,
    page: { readonly after: number; readonly until_position: number; readonly limit: number },
  ): number[] {
    const positions: number[] = [];
    const end = Math.min(page.until_position, this.count);
    for (let position = page.after + 1; position <= end && positions.length < page.limit; ) {
      const spanIndex = Math.floor((position - 1) / SPAN_EVENTS);
      const spanEnd = Math.min((spanIndex + 1) * SPAN_EVENTS, end);
      if ((this.latest[spanIndex] as number) < sinceMs || (this.earliest[spanIndex] as number) >= untilMs)
        position = spanEnd + 1;
      else
        for (; position <= spanEnd && positions.length < page.limit; position += 1) positions.push(position);
    }
    return positions;
  }

  /** A copy of the times: the earliest and the latest of each span, alternating. */
  exportState(): Float64Array {
    return Float64Array.from(
      { length: this.latest.length * 2 },
      (_, index) => (index % 2 === 0 ? this.earliest : this.latest)[index >> 1] as number,
    );
  }

  static fromState(state: Float64Array, count: number): TimeIndex {
    if (state.length !== Math.ceil(count / SPAN_EVENTS) * 2) {
      throw new Error(`The event index is damaged: ${state.length / 2} spans of time for ${count} events.`);
    }
    const times = new TimeIndex();
    for (let index = 0; index < state.length; index += 2) {
      times.earliest.push(state[index] as number);
      times.latest.push(state[index + 1] as number);
    }
    times.count = count;
    return times;
  }
}
