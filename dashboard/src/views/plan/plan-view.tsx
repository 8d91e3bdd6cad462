export default function PlanView() {
  return <h1>Plan</h1>;
}
