import { Link } from 'wouter';

export const taskPath = (id: string): string => `/task/${encodeURIComponent(id)}`;

export const TaskLink = ({ id }: { id: string }) => (
  <Link className="mono" href={taskPath(id)}>
    {id}
  </Link>
);
