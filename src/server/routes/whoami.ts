import { OPERATION_LIST } from '../../core/contract/operations.js';
import { allowedOperations } from '../auth/authorize.js';
import { jsonHandlers } from '../route.js';

export const whoamiHandlers = jsonHandlers({
  whoami: async ({ principal }) => {
    const { name, role, tenant_id } = principal;
    return { name, role, tenant_id, operations: allowedOperations(principal, OPERATION_LIST) };
  },
});
