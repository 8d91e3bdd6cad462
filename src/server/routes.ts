import { mcpRoutes } from './mcp/routes.js';
import type { Route } from './route.js';
import { documentRoutes } from './routes/documents.js';
import { eventRoutes } from './routes/events.js';
import { keyRoutes } from './routes/keys.js';
import { methodologyRoutes } from './routes/methodology.js';
import { overviewRoutes } from './routes/overview.js';
import { planRoutes } from './routes/plan.js';
import { platformRoutes } from './routes/platform.js';
import { taskRoutes } from './routes/tasks.js';
import { workRoutes } from './routes/work.js';

/** All routes. The API description, the authorization and the contract tests are derived from this table. */
export const ROUTES: readonly Route[] = [
  ...workRoutes,
  ...taskRoutes,
  ...planRoutes,
  ...overviewRoutes,
  ...keyRoutes,
  ...eventRoutes,
  ...methodologyRoutes,
  ...platformRoutes,
  ...mcpRoutes,
  ...documentRoutes(() => ROUTES),
];
