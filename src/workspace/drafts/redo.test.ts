import { readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { Agent, human } from '../../../test/support/agent.js';
import { answered, House, P } from '../../../test/support/house.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { collectDrafts } from './collect.js';
import { type Log, promoteAccepted } from './redo.js';
import { ALPHA, digest, EDGE, Yard } from './testing/yard.js';

/** A project with its coordinator, and agents who submit what they drafted. */
async function begin() {
  const house = await House.open('file');
  const yard = await Yard.open();
  answered(await house.coordinator.settings.putPolicy(P, { stale_policy: { edge: 'takeover' } }));
  const log: Log = { store: house.store, blobs: house.blobs, key: P };
  const agent = (agent_id: string) => new Agent(house, agent_id, `s-${agent_id}`);
  const submits = async (by: Agent, subject = EDGE) => {
    const manifest = await collectDrafts(yard, log, { agent_id: by.agent_id, subject });
    return by.submits(subject, manifest);
  };
  const converges = async (subject: string, files: Record<string, string>) => {
    const by = agent('alpha');
    await by.claims(subject);
    for (const [path, text] of Object.entries(files)) await yard.draft(path, text, { ...ALPHA, subject });
    expect(await submits(by, subject)).toMatchObject({ reason: 'ACCEPTED' });
  };
  return { house, yard, log, agent, submits, converges };
}

const OTHER = 'REQ-F-PAY-2#code_unit_tests';
const watermark = (yard: Yard) => yard.path('events', 'promoted.json');

describe('what the log accepted is promoted', () => {
  test('in its order, and looked at once', async () => {
    const { yard, log, converges } = await begin();
    await converges(EDGE, { 'src/a': 'one', 'src/b': 'b' });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: ['src/a', 'src/b'] });
    await converges(OTHER, { 'src/a': 'two' });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: ['src/a'], unchanged: [] });
    expect(await yard.shared('src/a')).toBe('two');
    // What a person does afterwards is theirs, whether or not it was like this before.
    await yard.share('src/a', 'one');
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: [], unchanged: [], conflicts: [] });
    expect(await yard.shared('src/a')).toBe('one');
  });

  test('again from the whole log when the mark is lost, broken, or of another log', async () => {
    const { yard, log, converges } = await begin();
    await converges(EDGE, { 'src/a': 'one' });
    await promoteAccepted(yard, log);
    await converges(OTHER, { 'src/a': 'two' });
    await promoteAccepted(yard, log);
    const { position } = JSON.parse(await readFile(watermark(yard), 'utf8')) as { position: number };
    const other = JSON.stringify({ position, event_id: 'another', unfinished: [] });
    for (const mark of [null, '{', '{"position":-1}', other]) {
      if (mark === null) await rm(watermark(yard));
      else await writeFile(watermark(yard), mark);
      expect(await promoteAccepted(yard, log)).toMatchObject({ unchanged: ['src/a'], conflicts: [] });
      await writeFile(watermark(yard), mark ?? '');
      await yard.share('src/a', 'by hand');
      expect(await promoteAccepted(yard, log)).toMatchObject({ written: [], conflicts: [{ path: 'src/a' }] });
      await yard.share('src/a', 'two');
    }
  });

  test('by calls at the same time, one after the other', async () => {
    const { yard, log, converges } = await begin();
    await converges(EDGE, { a: 'one', b: 'b', c: 'c' });
    let inside = 0;
    let most = 0;
    const steps = (step: string) => {
      if (step === 'read') most = Math.max(most, ++inside);
      if (step === 'synced') inside -= 1;
    };
    const calls = [1, 2, 3].map(() => promoteAccepted(yard, log, steps));
    expect((await Promise.all(calls)).map(({ written }) => written.length)).toEqual([3, 0, 0]);
    expect(most).toBe(1);
  });

  test('and results without files are passed by, with a mark now and then', async () => {
    const { yard, log, house, agent } = await begin();
    const alpha = agent('alpha');
    await alpha.claims(EDGE);
    await alpha.submits(EDGE, { done: true });
    await promoteAccepted(yard, log);
    await expect(readFile(watermark(yard))).rejects.toThrow('ENOENT');
    await alpha.claims(OTHER);
    for (let at = 0; at < 500; at += 1) await alpha.notes(OTHER, `${at}`);
    await promoteAccepted(yard, log);
    expect(JSON.parse(await readFile(watermark(yard), 'utf8'))).toMatchObject({
      position: await house.position(),
    });
  });

  test('when its manifest is too large for an event', async () => {
    const { yard, log, converges, house } = await begin();
    const long = 'x'.repeat(240);
    const files = Object.fromEntries(Array.from({ length: 220 }, (_, at) => [`many/${at}${long}`, `${at}`]));
    await converges(EDGE, files);
    expect((await house.events()).at(-1)?.payload).toHaveProperty('blob_sha256');
    expect((await promoteAccepted(yard, log)).written).toHaveLength(220);
  });

  test('and not what is no result of ours: of a task, of others, of no files, of a manifest that is none', async () => {
    const { yard, log, house, converges } = await begin();
    await converges(EDGE, { a: 'a' });
    const [told] = (await house.events()).slice(-1) as [EventEnvelope];
    const result_data = told.payload.result_data as { files: { path: string }[] };
    const evil = structuredClone(result_data);
    evil.files[0]!.path = '../evil';
    const { seq: _, ...foreign } = told;
    const events: EventEnvelope[] = [
      foreign,
      { ...told, subject: 'A-001-x' },
      { ...told, payload: { ...told.payload, result_data: { done: true } } },
      { ...told, payload: { ...told.payload, result_data: evil } },
    ];
    const store = {
      project: async () => ({ position: events.length, rules_seq: 0 }),
      events: async (_key: unknown, query: { after: number }) =>
        events.map((event, at) => ({ ...event, position: at + 1 })).slice(query.after),
    };
    const promotion = await promoteAccepted(yard, { ...log, store });
    expect(promotion).toMatchObject({
      written: [],
      failures: [{ position: 4, path: 'files.0.path', again: false }],
    });
    expect(await yard.shared('a')).toBeNull();
  });

  test('later, when its bytes were missing', async () => {
    const { yard, log, converges } = await begin();
    await converges(EDGE, { a: 'a', b: 'b' });
    const without = {
      put: log.blobs.put.bind(log.blobs),
      size: log.blobs.size.bind(log.blobs),
      get: async (tenant: string, sha256: string) =>
        sha256 === digest('a') ? null : log.blobs.get(tenant, sha256),
    };
    const first = await promoteAccepted(yard, { ...log, blobs: without });
    expect(first).toMatchObject({ written: ['b'], failures: [{ path: 'a' }] });
    await converges(OTHER, { c: 'c' });
    const second = await promoteAccepted(yard, { ...log, blobs: without });
    expect(second).toMatchObject({ written: ['c'], failures: [{ path: 'a' }] });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: ['a'], failures: [] });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: [], unchanged: [] });
  });
});

describe('a promotion cut short is done on the next start', () => {
  const stepsOf = async (): Promise<string[]> => {
    const seen: string[] = [];
    const { yard, log, converges } = await begin();
    await yard.share('c', 'old');
    await converges(EDGE, { a: 'a', 'b/b': 'b', c: 'c' });
    await yard.share('c', 'by hand');
    await promoteAccepted(yard, log, (step, path) => void seen.push(`${step} ${path}`));
    return seen;
  };

  test('at every step, twice over', async () => {
    const steps = await stepsOf();
    expect(steps.length).toBeGreaterThan(9);
    const { yard, log, converges } = await begin();
    await yard.share('c', 'old');
    await converges(EDGE, { a: 'a', 'b/b': 'b', c: 'c' });
    await yard.share('c', 'by hand');
    for (const crash of steps) {
      for (const path of ['a', 'b', watermark(yard).slice(yard.root.length + 1)]) {
        await rm(`${yard.root}/${path}`, { recursive: true, force: true });
      }
      const crashing = promoteAccepted(yard, log, (step, path) => {
        if (`${step} ${path}` === crash) throw new Error('crash');
      });
      await expect(crashing).rejects.toThrow('crash');
      await promoteAccepted(yard, log);
      const files = await Promise.all(['a', 'b/b', 'c'].map((path) => yard.shared(path)));
      expect({ crash, files }).toEqual({ crash, files: ['a', 'b', 'by hand'] });
      expect(await promoteAccepted(yard, log)).toMatchObject({ written: [], conflicts: [] });
    }
  });
});

describe('a zombie', () => {
  test('cannot promote; its drafts and its manifest are kept, and adopted they are promoted', async () => {
    const { house, yard, log, agent, submits } = await begin();
    await yard.share('src/a', 'old');
    const [alpha, beta] = [agent('alpha'), agent('beta')];
    await alpha.claims(EDGE);
    await yard.draft('src/a', 'by alpha');
    await yard.draft('src/new', 'by alpha');
    house.advance(24 * 3600);
    expect(await beta.claims(EDGE)).toMatchObject({ success: true, claim: { generation: 2 } });
    const zombie = await submits(alpha);
    expect(zombie).toMatchObject({ accepted: false, reason: 'STALE_GENERATION', parked: expect.any(String) });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: [], conflicts: [] });
    expect([await yard.shared('src/a'), await yard.shared('src/new')]).toEqual(['old', null]);
    expect((await yard.collected()).files).toHaveLength(2);

    const body = { expected_generation: 2, reason: 'it was good', result_id: zombie.parked };
    const adopted = await house.coordinator.operate(P, EDGE, 'adopt', body, human('ann'));
    expect(adopted).toMatchObject({ reason: 'ADOPTED' });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: ['src/a', 'src/new'] });
    expect([await yard.shared('src/a'), await yard.shared('src/new')]).toEqual(['by alpha', 'by alpha']);
  });

  test('whose successor was promoted meets its files, and must rebase', async () => {
    const { house, yard, log, agent, submits } = await begin();
    await yard.share('src/a', 'old');
    const [alpha, beta] = [agent('alpha'), agent('beta')];
    await alpha.claims(EDGE);
    await yard.draft('src/a', 'by alpha');
    await yard.collected();
    house.advance(24 * 3600);
    await beta.claims(EDGE);
    await yard.draft('src/a', 'by beta', { agent_id: 'beta', subject: EDGE });
    expect(await submits(beta)).toMatchObject({ reason: 'ACCEPTED' });
    await promoteAccepted(yard, log);
    expect(await yard.shared('src/a')).toBe('by beta');
    expect(await yard.collect()).toMatchObject({ refused: 'BASE_CHANGED', path: 'src/a' });
  });
});
