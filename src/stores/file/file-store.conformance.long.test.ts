import { PROJECT } from '../conformance/fixture.js';
import { describeFileStore } from './testing/describe-file-store.js';

// One project is in the root itself, as in a workspace.
describeFileStore('file (workspace)', (tenant_id) => ({ home: { tenant_id, project_id: PROJECT } }));
