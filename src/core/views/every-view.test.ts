import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import { decide } from '../claims/decide.js';
import { emptyHead } from '../claims/head.js';
import { CATALOGUE, checkNewEvent } from '../events/catalogue.js';
import { type EventEnvelope, isoTime } from '../events/envelope.js';
import { claimedSubjectsOf, subjectsWithOpenClaim } from '../heads/claim-index.js';
import { runAtOnce } from '../sliceable-work.js';
import { subjectKeys } from '../subject.js';
import { agentViews } from './agents.js';
import { applyCommit, applyStoredHead } from './apply-commit.js';
import type { FoldContext } from './fold-context.js';
import { lineageOf, lineageTable } from './lineage.js';
import { progressInSlices } from './progress.js';
import { loadProject, snapshotProject } from './project-snapshot.js';
import { emptyProject, evolveProject, foldProject, type ProjectState } from './project-state.js';
import { parkedResults, resultsOf } from './results.js';
import { emptySession, evolveSession, type SessionFold, sessionMemory } from './session-memory.js';
import { projectStatus } from './status.js';
import { taskStateIn } from './task-state.js';
import { type CommandStep, claimBy, SUBJECTS, VERBS, WORKERS } from './testing/command-steps.js';
import { ProjectHistory, rulesOf } from './testing/project-history.js';

const SESSIONS = ['s-1', 's-2', 's-op'];

/** Steps of commands. Claims and submissions are frequent, so that the other commands have something to act on. */
const steps: fc.Arbitrary<CommandStep[]> = fc.array(
  fc.record({
    subject: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('A-001-core', 'REQ-F-AUTH-001#design_code') },
      { weight: 3, arbitrary: fc.constantFrom(...SUBJECTS) },
    ),
    verb: fc.oneof(
      { weight: 8, arbitrary: fc.constant('claim' as const) },
      { weight: 6, arbitrary: fc.constant('submit' as const) },
      { weight: 14, arbitrary: fc.constantFrom(...VERBS) },
    ),
    worker: fc.constantFrom(...WORKERS),
    seconds: fc.constantFrom(0, 0, 1, 5, 30, 61, 200),
    choice: fc.nat(100),
  }),
  { minLength: 40, maxLength: 80 },
);

/** Every view of the project, from a state and its events. */
function everyView(
  state: ProjectState,
  sessions: readonly SessionFold[],
  events: EventEnvelope[],
  at: FoldContext,
) {
  const progress = runAtOnce(progressInSlices(state, at));
  const ofSubject = (subject: string) => events.filter((event) => event.subject === subject);
  return {
    status: projectStatus(state, at),
    progress,
    agents: agentViews(state),
    tasks: SUBJECTS.map((subject) => taskStateIn(state, subject, at)),
    lineages: SUBJECTS.map((subject) => lineageTable(lineageOf(subject, ofSubject(subject)))),
    results: SUBJECTS.map((subject) => [resultsOf(ofSubject(subject)), parkedResults(ofSubject(subject))]),
    sessions: sessions.map((session) => sessionMemory(session, progress.tracks)),
  };
}

const foldSession = (sessionId: string, events: readonly EventEnvelope[]): SessionFold => {
  const session = emptySession(sessionId);
  for (const event of events) evolveSession(session, event);
  return session;
};

const rebuiltViews = (events: EventEnvelope[], at: FoldContext) =>
  everyView(
    foldProject(events),
    SESSIONS.map((sessionId) => foldSession(sessionId, events)),
    events,
    at,
  );

describe('the generated histories', () => {
  it('contain every claim event type of tasks and edges except notes and counts of refusals', () => {
    const eventTypes = new Set<string>();
    for (const commandSteps of fc.sample(steps, { numRuns: 200, seed: 4 })) {
      for (const event of new ProjectHistory().run(commandSteps).events) eventTypes.add(event.event_type);
    }
    const claimEventTypes = [...CATALOGUE.keys()].filter(
      (type) => claimEventKindOf(type) !== undefined && !/note|refusals_counted/i.test(type),
    );
    expect(claimEventTypes.filter((type) => !eventTypes.has(type))).toEqual([]);
  });
});

describe('every view', () => {
  // req: EVT-001, PRJ-004
  it('equals a rebuild from scratch at every position', () => {
    fc.assert(
      fc.property(steps, (commandSteps) => {
        const history = new ProjectHistory().run(commandSteps);
        const at = history.foldContext();
        const state = emptyProject();
        const sessions = SESSIONS.map(emptySession);
        for (const [index, event] of history.events.entries()) {
          evolveProject(state, event);
          for (const session of sessions) evolveSession(session, event);
          const prefix = history.events.slice(0, index + 1);
          expect(everyView(state, sessions, prefix, at)).toEqual(rebuiltViews(prefix, at));
          for (const session of sessions) {
            const heldTaskIds = [...session.active_claims.values()].map(({ task_id }) => task_id);
            expect(heldTaskIds.sort()).toEqual([...(state.bySession.get(session.session_id) ?? [])].sort());
            const latestLeaseEndMs = state.latestLeaseEndBySession.get(session.session_id);
            expect(latestLeaseEndMs !== undefined).toBe(heldTaskIds.length > 0);
            for (const { task_id, expires_at } of session.active_claims.values()) {
              if (expires_at !== null && expires_at !== undefined)
                expect(latestLeaseEndMs).toBeGreaterThanOrEqual(Date.parse(expires_at));
              expect(expires_at).toBe(taskStateIn(state, task_id, at).claim?.expires_at);
            }
          }
        }
        expect(new Map(state.heads)).toEqual(new Map([...history.heads].filter(([, head]) => head.seq > 0)));
        for (const subject of SUBJECTS) {
          const { parked } = taskStateIn(state, subject, at);
          expect(parked).toBe(parkedResults(history.eventsOf(subject)).length);
        }
      }),
      { numRuns: 15 },
    );
  });

  it('ignores repeated events', () => {
    fc.assert(
      fc.property(steps, fc.array(fc.nat(200), { maxLength: 20 }), (commandSteps, repeatedIndexes) => {
        const history = new ProjectHistory().run(commandSteps);
        const { events } = history;
        const repeated = events.flatMap((event, index) => [
          event,
          ...(repeatedIndexes.includes(index) ? events.slice(0, index + 1) : []),
        ]);
        const at = history.foldContext();
        expect(rebuiltViews(repeated, at)).toEqual(rebuiltViews(events, at));
      }),
      { numRuns: 50 },
    );
  });

  it('is the same if heads are applied before their events', () => {
    fc.assert(
      fc.property(steps, fc.nat(100), (commandSteps, cut) => {
        const history = new ProjectHistory().run(commandSteps);
        const { events } = history;
        const eventsBefore = events.slice(0, 1 + (cut % events.length));
        const state = foldProject(eventsBefore);
        for (const head of history.heads.values()) if (head.seq > 0) applyStoredHead(state, head);
        for (const event of events) evolveProject(state, event);
        const whole = foldProject(events);
        expect(new Set(subjectsWithOpenClaim(state))).toEqual(new Set(subjectsWithOpenClaim(whole)));
        expect(state.bySession).toEqual(whole.bySession);
        expect(new Map(state.heads)).toEqual(new Map(whole.heads));
        expect(state.parked).toEqual(whole.parked);
        expect(state.inBackoff).toEqual(whole.inBackoff);
        expect(state.tracksByAgent).toEqual(whole.tracksByAgent);
        expect(agentViews(state)).toEqual(agentViews(whole));
      }),
      { numRuns: 50 },
    );
  });

  it('is the same if it continues from a snapshot', () => {
    fc.assert(
      fc.property(steps, fc.nat(100), (commandSteps, cut) => {
        const history = new ProjectHistory().run(commandSteps);
        const { events } = history;
        const stateBefore = foldProject(events.slice(0, cut % events.length));
        const state = loadProject(structuredClone(snapshotProject(stateBefore)));
        for (const event of events) evolveProject(state, event);
        const whole = foldProject(events);
        const at = history.foldContext();
        expect(everyView(state, [], events, at)).toEqual(everyView(whole, [], events, at));
        expect(new Map(state.heads)).toEqual(new Map(whole.heads));
        expect(new Map(state.records)).toEqual(new Map(whole.records));
        for (const part of [
          'bySession',
          'inBackoff',
          'tracksByAgent',
          'parked',
          'agents',
          'position',
        ] as const)
          expect(state[part]).toEqual(whole[part]);
      }),
      { numRuns: 50 },
    );
  });

  it('applies a commit at once, and requests a catch-up if other commits came between', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(WORKERS[0]));
    history.command('B-001-schema', claimBy(WORKERS[2]));
    const [first, second] = history.events.slice(-2) as [EventEnvelope, EventEnvelope];
    const before = history.events.slice(0, -2);
    const transactionOf = (event: EventEnvelope, subject: string) => ({
      swaps: [{ head: history.head(subject), events: [event] }],
      loose_events: [],
    });

    const state = foldProject(before);
    expect(applyCommit(state, transactionOf(second, 'B-001-schema'), [second.position])).toBe(true);
    expect(state.position).toBe(before.length);
    expect([...subjectsWithOpenClaim(state)]).toEqual(['B-001-schema']);

    expect(applyCommit(state, transactionOf(first, 'A-001-core'), [first.position])).toBe(false);
    expect(applyCommit(state, transactionOf(second, 'B-001-schema'), [second.position])).toBe(false);
    const whole = foldProject(history.events);
    expect(new Map(state.heads)).toEqual(new Map(whole.heads));
    expect(claimedSubjectsOf(state, WORKERS[2].agent_id)).toEqual(
      claimedSubjectsOf(whole, WORKERS[2].agent_id),
    );
    expect(state.last_updated).toBe(whole.last_updated);
    expect(state.position).toBe(second.position);
  });

  it('reports ready exactly when a claim would be granted, and otherwise the reason', () => {
    const codeOfReadiness = {
      completed: 'DENIED_COMPLETED',
      held: 'DENIED_HELD',
      suspended: 'DENIED_ACTIVE_CLAIM',
      stale: 'DENIED_ACTIVE_CLAIM',
      claimed: 'DENIED_ACTIVE_CLAIM',
      blocked: 'DENIED_DEPENDENCIES',
      backoff: 'DENIED_BACKOFF',
      exhausted: 'DENIED_LIMIT',
      ready: 'GRANTED',
    };
    fc.assert(
      fc.property(steps, fc.nat(300), (commandSteps, seconds) => {
        const history = new ProjectHistory().run(commandSteps);
        const state = foldProject(history.events);
        const at = { ...history.foldContext(), now_ms: history.now_ms + seconds * 1000 };
        for (const subject of SUBJECTS) {
          const { readiness, waiting_for } = taskStateIn(state, subject, at);
          const head = state.heads.get(subject) ?? emptyHead(subject);
          const context = { now_ms: at.now_ms, rules: rulesOf(subject), claimIdOf: () => '' };
          expect(codeOfReadiness[readiness]).toBe(
            decide(head, claimBy(WORKERS[0], waiting_for), context).code,
          );
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('the catalogue', () => {
  it('accepts every event that the claim rules emit', () => {
    fc.assert(
      fc.property(steps, (commandSteps) => {
        for (const { position: _, ...event } of new ProjectHistory().run(commandSteps).events) {
          expect([event.event_type, checkNewEvent(event)]).toEqual([event.event_type, { ok: true }]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('may grow: an unknown event of a later version only moves the seq of a head', () => {
    const history = new ProjectHistory();
    history.command('A-001-core', claimBy(WORKERS[0]));
    const last = history.events.at(-1)!;
    const unknown = {
      ...last,
      ...subjectKeys('A-001-core'),
      event_type: 'FROM_A_LATER_VERSION',
      position: last.position + 1,
      seq: 2,
      timestamp: isoTime(history.now_ms),
      payload: { anything: true },
    };
    const state = foldProject([...history.events, unknown]);
    const { seq, claim } = state.heads.get('A-001-core')!;
    expect({ seq, state: claim?.state }).toEqual({ seq: 2, state: 'ACTIVE' });
  });
});
