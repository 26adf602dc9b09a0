/* The smallest program there is: what starting one costs. */
int main(void)
{
	return 0;
}
