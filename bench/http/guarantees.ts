import { table } from '../table.js';

/**
 * What each system guarantees or offers, in the versions that package.json names. The statements on the job queues come
 * from their documentation (docs.bullmq.io, timgit.github.io/pg-boss, worker.graphile.org) and their source. On the result
 * of a worker that lost its job: moveToFinished of BullMQ compares the token of the lock; completeJobs of pg-boss
 * requires only that the job is active; graphile-worker deletes the job by its id.
 */
const GUARANTEES: readonly (readonly [string, string, string, string, string])[] = [
  [
    'durable before the reply',
    'yes; on Redis unless profile=ha is chosen',
    'as Redis is set; advises a sync each second',
    'yes, a commit of PostgreSQL',
    'yes; batched completion a little later',
  ],
  ['result kept', 'yes', 'yes', 'yes; not by workers in batches', 'no, the job is deleted'],
  [
    'result of a worker that lost the job refused',
    'yes, by generation',
    'yes, by the token of the lock',
    'no, if another holds it now',
    'no',
  ],
  [
    'job of a dead worker',
    'lease, renewed by the agent',
    'lock, renewed by the worker',
    'fixed time limit, then retried',
    'free again after 4 hours',
  ],
  [
    'repeated request has one effect',
    'every command, by request id',
    'adding, by job id',
    'adding, by job id or key',
    'adding, by job key',
  ],
  [
    'dependencies between tasks',
    'yes, any acyclic graph',
    'yes, trees of parents and children',
    'no',
    'order within a named queue',
  ],
  [
    'limits on work in progress',
    'exact, per tenant',
    'per queue; per group in the paid edition',
    'one active job per queue or key',
    'one at a time in a named queue',
  ],
  [
    'history of who did what',
    'all events, replayed by gen verify',
    'finished jobs; about 10,000 last events',
    'finished jobs, archived for a time',
    'no, a finished job is deleted',
  ],
  ['workers need no access to the database', 'yes, HTTP with keys', 'no', 'no', 'no'],
  ['priorities', 'yes', 'yes', 'yes', 'yes'],
  ['delayed jobs', 'no', 'yes', 'yes', 'yes'],
  ['repeated jobs (cron)', 'no', 'yes', 'yes', 'yes'],
  ['retries with growing delay', 'yes, then on hold', 'yes', 'yes, then a dead letter queue if set', 'yes'],
  [
    'rate limit of jobs',
    'no; only requests, per key',
    'yes',
    'throttled when added',
    'own code (forbidden flags)',
  ],
  ['jobs added in bulk', 'yes, a plan', 'yes', 'yes', 'yes'],
  ['job added in a transaction of the application', 'no', 'no, on Redis', 'yes', 'yes'],
  ['new jobs are pushed to workers', 'waits in a request', 'yes', 'no, it polls', 'yes, LISTEN/NOTIFY'],
];

export const guaranteesTable = (): string =>
  table(['', 'Genesis Fleet', 'BullMQ', 'pg-boss', 'graphile-worker'], GUARANTEES, 5);
