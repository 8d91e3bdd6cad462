import { useQuery } from '@tanstack/react-query';
import { call, type OperationId, type Reply } from './call.js';

/** Who the caller is, and what it may call. Read once per key, and again after the connection was lost. */
export const useWhoami = () =>
  useQuery<Reply<'whoami'>>({
    queryKey: ['whoami'],
    queryFn: () => call('whoami'),
    meta: { isFixed: true },
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Whether the caller may call the operation; false until the server has answered. */
export const useIsAllowed = (id: OperationId): boolean => useWhoami().data?.operations.includes(id) ?? false;
