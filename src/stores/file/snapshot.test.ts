import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { emptyHead } from '../../core/claims/head.js';
import { isoTime } from '../../core/events/envelope.js';
import { HEADS_PER_PAGE } from '../../core/heads/claim-heads.js';
import { packHead } from '../../core/heads/packed-head.js';
import { EventIndex } from '../event-index.js';
import { type LedgerSnapshot, ProjectLedger } from '../ledger.js';
import { TenantPermits } from '../permits.js';
import { nodeDisk } from './node-disk.js';
import { loadSnapshot, writeSnapshot } from './snapshot.js';
import { KEY } from './testing.js';

const COUNT = 5000;
const each = <T>(make: (index: number) => T): T[] => Array.from({ length: COUNT }, (_, index) => make(index));

const completedPage = (from: number, count: number): string => {
  const lines = Array.from({ length: count }, (_, index) =>
    packHead({ ...emptyHead(`T-${from + index}-ü`), seq: 3, phase: 'COMPLETED', last_at_ms: index }),
  );
  return `${lines.join('\n')}\n`;
};

const ledgerContents = (): LedgerSnapshot => ({
  position: COUNT,
  rules_seq: 3,
  // Some are long, so that some lines hold fewer heads.
  heads: each((index) => ({
    subject: `~s-${index}`,
    seq: index + 1,
    value: {
      ...(index % 7 === 0 ? { claim: { agent_id: `agent-${index % 3}` } } : { claim: null }),
      note: index > 2000 && index < 3000 ? 'x'.repeat(5000) : index,
    },
    last_at_ms: index,
  })),
  pages: [completedPage(0, HEADS_PER_PAGE), completedPage(HEADS_PER_PAGE, 3)],
  summary: { tracks_by_agent: [['agent-1', ['A', 'B']]] },
  requests: each((index) => ({
    key: `r-${index}`,
    digest: 'd',
    reply: index % 2 === 0 ? { index } : undefined,
    positions: [index + 1],
    at_ms: 1000 + index,
  })),
  loose_event_ids: each((index) => `note-${index}`),
  permits: each((index) => ({
    scope: 'claims',
    member: `m-${index}`,
    until_ms: index % 2 === 0 ? Number.POSITIVE_INFINITY : 5000 + index,
  })),
});

/** Compared as text, because undefined fields are not stored. */
const snapshotText = ({
  position,
  rules_seq,
  pages,
  heads,
  summary,
  requests,
  loose_event_ids,
}: LedgerSnapshot) =>
  JSON.stringify([position, rules_seq, pages, summary, [...heads], [...requests], [...loose_event_ids]]);

it('restores everything in order, over many lines', async () => {
  const folder = await temporaryFolder();
  const index = new EventIndex();
  for (let at = 1; at <= COUNT; at += 1)
    index.add(at, {
      subject: `s-${at % 3000}`,
      ...(at % 2 === 0 ? { session_id: `t-${at % 9}` } : {}),
      timestamp: isoTime(at),
    });
  const offsets = Float64Array.from(each((at) => at * 100));
  const blocks = Float64Array.from(each((at) => at * 100));
  const foreign = [Buffer.from('{"event_type":"ü"}'), Buffer.from('{}')];
  const segments = [{ first_position: 1, bytes: 9 }];
  const point = { position: COUNT, seal: 's', first_seal_before: 'f', newest_ms: 7, segments };
  await writeSnapshot(
    nodeDisk,
    folder,
    { point, ledger: ledgerContents(), index: index.exportState(), offsets, blocks, foreign },
    async () => {},
  );
  const permits = new TenantPermits();
  const loaded = await loadSnapshot(nodeDisk, `${folder}/snapshots/000000005000`, KEY, permits);
  const written = ProjectLedger.load(KEY, new TenantPermits(), ledgerContents());
  expect(loaded.point).toMatchObject(point);
  expect(snapshotText(loaded.state.ledger.snapshot())).toBe(snapshotText(written.snapshot()));
  expect([...permits.entries(KEY.project_id)]).toEqual(ledgerContents().permits);
  expect(loaded.state.offsets.copy()).toEqual(offsets);
  expect(loaded.state.blocks.copy()).toEqual(blocks);
  expect(loaded.state.blocks.sealBefore).toBe('f');
  expect(loaded.state.foreign).toEqual(foreign);
  expect(loaded.state.index.exportState()).toEqual(index.exportState());
});
