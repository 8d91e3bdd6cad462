import { describe, expect, test } from 'vitest';
import type { Reply } from '../../api/call.js';
import { adoptedIds, generationTimelineOf, type TaskHistory } from './generation-timeline.js';

type Lineage = Reply<'get_claim_history'>;

const isoAt = (minute: number): string => new Date(minute * 60_000).toISOString();
const generationWith = (number: number, from: number, to: number | null, more: object = {}) => ({
  generation: number,
  agent_id: `agent-${number}`,
  acquired_at: isoAt(from),
  released_at: to === null ? null : isoAt(to),
  release_reason: to === null ? null : 'EXPIRED',
  result_accepted: false,
  adopted_from: null,
  ...more,
});
const refusedResult = (number: number, minute: number, more: object = {}) => ({
  id: `result-${number}`,
  generation: number,
  agent_id: `agent-${number}`,
  submitted_at: isoAt(minute),
  rejection_reason: 'STALE_GENERATION',
  parked: true,
  ...more,
});
const lineageOf = (generations: object[], rejected: object[] = []): Lineage =>
  ({ task_id: 't', generations, rejected, refused_count: 0, reviews: [] }) as unknown as Lineage;
const historyOf = (generations: object[], rejected: object[] = [], isCompleted = true): TaskHistory => ({
  lineage: lineageOf(generations, rejected),
  isCompleted,
});

describe('the timeline', () => {
  test('is missing for a task that was never claimed', () => {
    expect(generationTimelineOf(historyOf([]), 0)).toBeNull();
  });

  test('has a bar for each generation, from its grant to its end', () => {
    const timeline = generationTimelineOf(
      historyOf([
        generationWith(1, 0, 25),
        generationWith(2, 50, 100, { result_accepted: true, release_reason: 'COMPLETED' }),
      ]),
      0,
    );
    expect(timeline?.rows).toMatchObject([
      { generation: 1, outcome: 'EXPIRED', tone: 'bad', claimSpan: { start: 0, width: 25 }, lateSpan: null },
      {
        generation: 2,
        outcome: 'ACCEPTED',
        tone: 'good',
        claimSpan: { start: 50, width: 50 },
        lateSpan: null,
      },
    ]);
  });

  test('shows that an accepted result was replaced by a later one', () => {
    const accepted = { result_accepted: true, release_reason: 'COMPLETED' };
    const timeline = generationTimelineOf(
      historyOf([
        generationWith(1, 0, 10, accepted),
        generationWith(2, 10, 20),
        generationWith(3, 30, 30, accepted),
      ]),
      0,
    );
    expect(timeline?.rows.map(({ outcome }) => outcome)).toEqual(['REPLACED', 'EXPIRED', 'ACCEPTED']);
    expect(timeline?.rows[0]?.tone).toBe('plain');
  });

  test('shows that an accepted result does not count after a reset', () => {
    const accepted = { result_accepted: true, release_reason: 'COMPLETED' };
    const outcomesOf = (...later: object[]) =>
      generationTimelineOf(historyOf([generationWith(1, 0, 10, accepted), ...later], [], false), 0)?.rows.map(
        ({ outcome, tone }) => [outcome, tone],
      );
    expect(outcomesOf()).toEqual([['REOPENED', 'plain']]);
    expect(outcomesOf(generationWith(2, 20, null))).toEqual([
      ['REOPENED', 'plain'],
      ['IN_PROGRESS', 'accent'],
    ]);
  });

  test('draws a claim that is held until now', () => {
    const timeline = generationTimelineOf(
      historyOf([generationWith(1, 0, 10), generationWith(2, 10, null)]),
      20 * 60_000,
    );
    expect(timeline?.rows[1]).toMatchObject({ outcome: 'IN_PROGRESS', claimSpan: { start: 50, width: 50 } });
  });

  test('shows that an older generation continued its work while the newer one was held', () => {
    const timeline = generationTimelineOf(
      historyOf(
        [generationWith(1, 0, 20), generationWith(2, 20, 100)],
        [refusedResult(1, 60), refusedResult(1, 40, { id: 'b' })],
      ),
      0,
    );
    const [older, newer] = timeline?.rows ?? [];
    expect(older?.lateSpan).toEqual({ start: 20, width: 40 });
    expect(older?.refusedSubmissions.map((mark) => mark.at_percent)).toEqual([60, 40]);
    expect(older?.refusedSubmissions[0]?.text).toBe('STALE_GENERATION, parked');
    // The striped bar of the older generation lies within the bar of the newer generation.
    expect(newer?.claimSpan).toEqual({ start: 20, width: 80 });
  });

  test('draws no late work for a submission before the end of the claim', () => {
    const timeline = generationTimelineOf(
      historyOf([generationWith(1, 0, 20)], [refusedResult(1, 10, { parked: false })]),
      0,
    );
    expect(timeline?.rows[0]?.lateSpan).toBeNull();
  });

  test('keeps a refused submission whose generation is not in the history', () => {
    const timeline = generationTimelineOf(historyOf([generationWith(3, 0, 10)], [refusedResult(1, 5)]), 0);
    expect(timeline?.rows[0]).toMatchObject({
      generation: 1,
      agent_id: 'agent-1',
      outcome: 'UNKNOWN',
      claimSpan: null,
    });
  });

  test('shows a claim that began and ended at the same time', () => {
    expect(generationTimelineOf(historyOf([generationWith(1, 5, 5)]), 0)?.rows[0]?.claimSpan).toEqual({
      start: 0,
      width: 0,
    });
  });
});

test('adopted results are known by the generation that adopted them', () => {
  const from = { result_id: 'r1', generation: 1, agent_id: 'a', session_id: 's' };
  const imported = { imported: true, event_id: 'e', position: 1 };
  const lineage = lineageOf([
    generationWith(1, 0, 1, { adopted_from: from }),
    generationWith(2, 1, 2, { adopted_from: imported }),
  ]);
  expect([...adoptedIds(lineage)]).toEqual(['r1']);
});
