import { OPERATION_LIST } from '../core/contract/operations.js';
import { mcpHandlers } from './mcp/routes.js';
import type { Handlers, Route } from './route.js';
import { auditHandlers } from './routes/audit.js';
import { eventHandlers } from './routes/events.js';
import { keyHandlers } from './routes/keys.js';
import { methodologyHandlers } from './routes/methodology.js';
import { overviewHandlers } from './routes/overview.js';
import { planHandlers } from './routes/plan.js';
import { platformHandlers } from './routes/platform.js';
import { reviewLinkHandlers } from './routes/review-links.js';
import { runnerHandlers } from './routes/runners.js';
import { runHandlers } from './routes/runs.js';
import { taskHandlers } from './routes/tasks.js';
import { whoamiHandlers } from './routes/whoami.js';
import { workHandlers } from './routes/work.js';

const HANDLERS: Handlers = {
  ...workHandlers,
  ...taskHandlers,
  ...planHandlers,
  ...overviewHandlers,
  ...whoamiHandlers,
  ...keyHandlers,
  ...runnerHandlers,
  ...eventHandlers,
  ...auditHandlers,
  ...methodologyHandlers,
  ...runHandlers,
  ...reviewLinkHandlers,
  ...platformHandlers,
  ...mcpHandlers,
};

/** The operations of the contract, each with its handler. */
export const ROUTES: readonly Route[] = OPERATION_LIST.map((operation) => ({
  ...operation,
  // The query is validated by the operation's own schema before the handler gets it.
  run: HANDLERS[operation.id] as Route['run'],
}));
