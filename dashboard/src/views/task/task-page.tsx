export default function TaskPage({ id }: { id: string }) {
  return <h1>{id}</h1>;
}
